"""The gateway's description of itself, in OpenAPI 3.1, made from its configuration."""

from __future__ import annotations

from typing import Any

from incrowd.gateway.config import Config, Route
from incrowd.version import __version__

__all__ = ["describe_api"]

_PROBLEMS = {
    "400": "A parameter cannot be understood",
    "401": "The API key is missing or unknown",
    "403": "Refused: no query that is general enough could be sent",
    "413": "The body is too large",
    "429": "Too many requests; Retry-After says when to come back",
    "500": "An error of the gateway itself",
    "502": "The provider failed, or its answer is incomplete or lacks a field",
    "503": "The auxiliary table or the ledger cannot be used, so nothing is sent",
    "504": "The provider took too long",
}
_PREVIEW_PROBLEMS = ("400", "401", "403", "413", "429", "500", "503")
_GUESSES = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {name: {"type": "string"} for name in ("needed", "before", "after")},
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
            "properties": {name: {"type": "string"} for name in ("code", "message", "request")},
            "required": ["code", "message", "request"],
        }
    },
    "required": ["error"],
}
_VALUE = {"type": ["string", "number", "boolean", "null"]}


def describe_api(config: Config) -> dict[str, Any]:
    """Return the OpenAPI description of a gateway."""
    paths: dict[str, Any] = {}
    for route in config.routes:
        paths[route.path] = _operations(route, preview=False)
        paths[f"/preview{route.path}"] = _operations(route, preview=True)
    for path, summary in (("/healthz", "Is the process alive?"), ("/readyz", "Can it answer?")):
        paths[path] = {"get": {"summary": summary, "security": [], "responses": _probe(path)}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "incrowd gateway", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {"Answer": _ANSWER, "Privacy": _PRIVACY, "Problem": _PROBLEM},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}],
    }


def _operations(route: Route, *, preview: bool) -> dict[str, Any]:
    """Return the two ways to ask: parameters after the question mark, or a JSON body that no log of URLs holds."""
    said = "What would be sent, and why; nothing is sent" if preview else "Ask, telling the provider less"
    kind = "Privacy" if preview else "Answer"
    codes = _PREVIEW_PROBLEMS if preview else tuple(_PROBLEMS)
    responses: dict[str, Any] = {"200": _json("As asked", kind)}
    responses |= {code: _json(_PROBLEMS[code], "Problem") for code in codes}
    return {
        "get": {"summary": said, "parameters": _parameters(route), "responses": responses},
        "post": {"summary": said, "requestBody": _body(route), "responses": responses},
    }


def _parameters(route: Route) -> list[dict[str, Any]]:
    meaning = {
        "quasi": "Described to the provider only as far as privacy allows; the answer is exact all the same",
        "passthrough": "Sent to the provider as it is",
        "block": "Never sent",
    }
    known = [
        {"name": name, "in": "query", "description": meaning[parameter.use], "schema": {"type": "string"}}
        for name, parameter in route.parameters.items()
    ]
    return [
        *known,
        {"name": "sort", "in": "query", "description": _sorting(route), "schema": {"type": "string"}},
        {"name": "offset", "in": "query", "schema": {"type": "integer", "minimum": 0}},
        {"name": "limit", "in": "query", "schema": _limit(route)},
    ]


def _body(route: Route) -> dict[str, Any]:
    properties: dict[str, Any] = dict.fromkeys(route.parameters, _VALUE)
    properties |= {
        "sort": {"type": "string", "description": _sorting(route)},
        "offset": {"type": "integer", "minimum": 0},
        "limit": _limit(route),
    }
    schema = {"type": "object", "properties": properties}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _limit(route: Route) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "maximum": route.page.most, "default": route.page.size}


def _sorting(route: Route) -> str:
    return f"Fields by comma, - for falling; any of: {', '.join(route.sort) or 'none'}"


def _probe(path: str) -> dict[str, Any]:
    fine = {"200": {"description": "Yes", "content": {"application/json": {"schema": {"type": "object"}}}}}
    return fine if path == "/healthz" else fine | {"503": _json("Not now", "Problem")}


def _json(description: str, schema: str) -> dict[str, Any]:
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {"application/json": {"schema": reference}}}
