from __future__ import annotations

import shutil
import subprocess

import pytest

from gateway.providers.conftest import ROWS
from gateway.providers.helpers import expect_failure, fetch, http, using
from gateway.upstream import Upstream
from incrowd.gateway.config.settings import ClientTls


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")


def authority(directory, name):
    key, certificate = directory / f"{name}.key", directory / f"{name}.pem"
    uses = ("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign")
    files = ("-keyout", key, "-out", certificate)
    openssl("req", "-x509", *NEW_KEY, "-days", 2, "-subj", f"/CN={name}", *uses, *files)
    return certificate, key


def issued(directory, name, ca, names):
    """Return a certificate with its key, signed by an authority."""
    key, request, certificate = (directory / f"{name}.{suffix}" for suffix in ("key", "csr", "pem"))
    extension = directory / f"{name}.ext"
    extension.write_text(f"subjectAltName={names}\n", encoding="ascii")
    openssl("req", *NEW_KEY, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
    signer = ("-CA", ca[0], "-CAkey", ca[1], "-CAcreateserial", "-extfile", extension)
    openssl("x509", "-req", "-days", 2, "-in", request, *signer, "-out", certificate)
    return certificate, key


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Return authorities and certificates by name."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make certificates with (Debian: openssl)")
    directory = tmp_path_factory.mktemp("tls")
    ca, other = authority(directory, "ours"), authority(directory, "other")
    return {
        "ca": ca[0],
        "other": other[0],
        "server": issued(directory, "server", ca, "IP:127.0.0.1"),
        "misnamed": issued(directory, "misnamed", ca, "DNS:elsewhere.example"),
        "client": issued(directory, "client", ca, "DNS:gateway"),
        "stranger": issued(directory, "stranger", other, "DNS:gateway"),
    }


def identity(papers, name, ca="ca"):
    certificate, key = papers[name]
    return ClientTls(ca=papers[ca], certificate=certificate, key=key)


@pytest.fixture(scope="module")
def server(papers):
    with Upstream(ROWS, papers["server"]) as running:
        yield running


@pytest.fixture(scope="module")
def strict_server(papers):
    with Upstream(ROWS, (*papers["server"], papers["ca"])) as running:
        yield running


def test_a_certificate_of_our_authority_is_trusted(server, papers):
    server.steer()
    config = http(server, tls=ClientTls(ca=papers["ca"]))
    assert fetch(config, {"race": "White"}).rows == ROWS[::2]
    assert using(config, lambda provider: provider.ready())


@pytest.mark.parametrize("ca", [None, "other"])
def test_a_certificate_of_another_authority_is_not_trusted(server, papers, ca):
    server.steer()
    tls = ClientTls(ca=papers[ca]) if ca else None
    expect_failure(http(server, tls=tls), "provider_error", 502, "certificate is not trusted")
    assert server.received == []


def test_a_certificate_with_another_name_is_not_trusted(papers):
    with Upstream(ROWS, papers["misnamed"]) as server:
        config = http(server, tls=ClientTls(ca=papers["ca"]))
        expect_failure(config, "provider_error", 502, "certificate is not trusted")
        assert server.received == []


def test_the_gateway_shows_its_own_certificate(strict_server, papers):
    strict_server.steer()
    assert fetch(http(strict_server, tls=identity(papers, "client"))).rows == ROWS


def test_without_a_certificate_of_its_own_the_gateway_is_refused(strict_server, papers):
    strict_server.steer()
    for tls in (ClientTls(ca=papers["ca"]), identity(papers, "stranger")):
        expect_failure(http(strict_server, tls=tls, retries=0), "provider_error", 502, "the provider")
    assert strict_server.received == []
