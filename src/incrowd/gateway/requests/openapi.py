"""The OpenAPI 3.1 description of a gateway, generated from its configuration."""

from __future__ import annotations

import re
from typing import Any

from incrowd.gateway.config.settings import Config, Route
from incrowd.gateway.requests.answer import LARGEST_OFFSET
from incrowd.gateway.requests.parameters import MOST_PARAMETERS
from incrowd.gateway.requests.problems import STATUSES
from incrowd.version import __version__

__all__ = ["describe_api"]

_PROBLEMS = {
    "400": "A parameter is not valid",
    "401": "The API key is missing or unknown",
    "403": "Refused: no generalization of the query meets the policies; nothing was sent",
    "413": "The body is too large",
    "429": "Too many requests; Retry-After says when to try again",
    "500": "An error of the gateway itself",
    "502": "The provider failed, or its answer is incomplete or lacks a field",
    "503": "The auxiliary table or the ledger cannot be used, so nothing is sent",
    "504": "The provider took too long",
}
_PREVIEW_PROBLEMS = ("400", "401", "403", "413", "429", "500", "503")
_FRACTION = {"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"}
_GUESSES = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": dict.fromkeys(("needed", "before", "after"), _FRACTION),
        "required": ["needed", "before", "after"],
    },
}
_NAMES = {"type": "array", "items": {"type": "string"}}
_PRIVACY = {
    "type": "object",
    "properties": {
        "sent": {"type": "object"},
        "kept": _NAMES,
        "coarser": _NAMES,
        "dropped": _NAMES,
        "blocked": _NAMES,
        "guesses": _GUESSES,
        "reason": {"type": "string"},
    },
    "required": ["sent", "kept", "coarser", "dropped", "blocked", "guesses", "reason"],
}
_ANSWER = {
    "type": "object",
    "properties": {
        "rows": {"type": "array", "items": {"type": "object"}},
        "total": {"type": "integer", "minimum": 0},
        "offset": {"type": "integer", "minimum": 0},
        "limit": {"type": "integer", "minimum": 1},
        "answer": {"enum": ["exact", "partial"]},
        "missing": _NAMES,
        "privacy": {"$ref": "#/components/schemas/Privacy"},
    },
    "required": ["rows", "total", "offset", "limit", "answer", "missing", "privacy"],
}
_PROBLEM = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "code": {"enum": list(STATUSES)},
                "message": {"type": "string"},
                "request": {"type": "string", "description": "The id of this request in the log"},
            },
            "required": ["code", "message", "request"],
        }
    },
    "required": ["error"],
}
_VALUE = {"type": ["string", "number", "boolean", "null"]}
_ALSO_TEXT = {"type": ["integer", "string", "null"], "pattern": "^[0-9]{0,16}$"}
_SORTING = "Fields separated by commas, the most important first; - before a field for descending order"
_ALIVE = {"type": "object", "properties": {"status": {"const": "alive"}}, "required": ["status"]}
_READY = {
    "type": "object",
    "properties": {
        "status": {"const": "ready"},
        "counting": {"type": "string", "description": "How rows are counted"},
        "providers": {"type": "object", "additionalProperties": {"type": "boolean"}},
    },
    "required": ["status", "counting", "providers"],
}


def describe_api(config: Config) -> dict[str, Any]:
    """Return the OpenAPI description of a gateway."""
    paths = {
        "/": _open("A page that shows what would be sent", "text/html", {"type": "string"}),
        "/openapi.json": _open("This description", "application/json", {"type": "object"}),
        "/healthz": _open("Is the process alive?", "application/json", _ALIVE),
        "/readyz": _open("Can it answer?", "application/json", _READY),
    }
    paths["/readyz"]["get"]["responses"]["503"] = _json(_PROBLEMS["503"], "Problem")
    for route in config.routes:
        paths[route.path] = _operations(route, preview=False)
        paths[f"/preview{route.path}"] = _operations(route, preview=True)
    return {
        "openapi": "3.1.0",
        "info": {"title": "incrowd gateway", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {"Answer": _ANSWER, "Privacy": _PRIVACY, "Problem": _PROBLEM},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
            },
        },
        "security": [{"bearer": []}, {"header": []}],
    }


def _operations(route: Route, *, preview: bool) -> dict[str, Any]:
    """Return the two operations: with query parameters, or with a JSON body, which is not in logs of URLs."""
    said = (
        "What would be sent, and why; nothing is sent"
        if preview
        else "Answer a query, disclosing less to the provider"
    )
    kind = "Privacy" if preview else "Answer"
    codes = _PREVIEW_PROBLEMS if preview else tuple(_PROBLEMS)
    responses: dict[str, Any] = {"200": _json("Success", kind)}
    responses |= {code: _json(_PROBLEMS[code], "Problem") for code in codes}
    return {
        "get": {"summary": said, "parameters": _parameters(route), "responses": responses},
        "post": {"summary": said, "requestBody": _body(route), "responses": responses},
    }


def _parameters(route: Route) -> list[dict[str, Any]]:
    meaning = {
        "quasi": "Generalized or dropped before it is sent to the provider; the answer is still exact",
        "passthrough": "Sent to the provider unchanged",
        "block": "Never sent",
    }
    known = [
        {"name": name, "in": "query", "description": meaning[parameter.use], "schema": {"type": "string"}}
        for name, parameter in route.parameters.items()
    ]
    return [
        *known,
        {"name": "sort", "in": "query", "description": _SORTING, "schema": _sort(route)},
        {"name": "offset", "in": "query", "allowEmptyValue": True, "schema": _offset()},
        {"name": "limit", "in": "query", "allowEmptyValue": True, "schema": _limit(route)},
    ]


def _body(route: Route) -> dict[str, Any]:
    properties: dict[str, Any] = dict.fromkeys(route.parameters, _VALUE)
    properties |= {
        "sort": _sort(route) | {"type": ["string", "null"], "description": _SORTING},
        "offset": _offset() | _ALSO_TEXT,
        "limit": _limit(route) | _ALSO_TEXT,
    }
    schema = {
        "type": "object",
        "properties": properties,
        "additionalProperties": _VALUE,
        "maxProperties": MOST_PARAMETERS,
    }
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _offset() -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": LARGEST_OFFSET, "default": 0}


def _limit(route: Route) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": route.page.most, "default": route.page.size}


def _sort(route: Route) -> dict[str, Any]:
    field = f"-?({'|'.join(map(re.escape, route.sort))})"
    return {"type": "string", "pattern": f"^({field}(,{field})*)?$" if route.sort else "^$"}


def _open(summary: str, media: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Describe a path that needs no key."""
    fine = {"description": "Success", "content": {media: {"schema": schema}}}
    return {"get": {"summary": summary, "security": [], "responses": {"200": fine}}}


def _json(description: str, schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {"application/json": {"schema": reference}}}
