"""Validation and error responses of the Glue double."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import botocore.session
from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from botocore.validate import ParamValidator
from moto.sts.models import sts_backends

if TYPE_CHECKING:
    from .glue import GlueServer

__all__ = ["Call", "answer", "error_of", "invalid", "signer_of"]

_MODEL = botocore.session.Session().get_service_model("glue")


@dataclass(frozen=True)
class Call:
    """A received request."""

    operation: str
    parameters: dict[str, Any]
    access_key: str | None


def answer(server: GlueServer, response: Any, perform: Callable[[], Any]) -> Any:
    operation = response._get_action()
    given = json.loads(response.body or "{}")
    server.calls.append(Call(operation, given, signer_of(response)))
    if operation not in _MODEL.operation_names:
        return _failure("UnknownOperationException", operation, 400)
    model = _MODEL.operation_model(operation)
    wrong = list(_violations(given, model.input_shape, operation))
    if wrong:
        server.problems += wrong
        return _failure("ValidationException", "; ".join(wrong), 400)
    expired = _expired(response)
    if expired:
        return _failure("ExpiredTokenException", "The security token included is expired", 400)
    if server._hooks.get(operation):
        server._hooks[operation].pop(0)(given)
    faults = server._faults.get(operation, []) + server._faults.get("*", [])
    fault = next((fault for fault in faults if fault.applies(given)), None)
    if fault is not None and not fault.after_effect:
        return _failure(fault.code, fault.message, fault.status, fault.headers)
    status, headers, body = perform()
    if fault is not None:
        return _failure(fault.code, fault.message, fault.status, fault.headers)
    if status in (401, 403):
        return _denial(body)
    if status == 200 and model.output_shape is not None:
        server.problems += _violations(
            json.loads(body or "{}"), model.output_shape, f"{operation} answer"
        )
    elif status != 200:
        code = json.loads(body).get("__type", "").split("#")[-1]
        if code in KNOWN and code not in {shape.name for shape in model.error_shapes}:
            server.problems.append(f"{operation} does not answer {code}")
    return status, headers, body


KNOWN = {"EntityNotFoundException", "AlreadyExistsException", "ConcurrentModificationException"}


def _failure(
    code: str, message: str, status: int, headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, str], str]:
    sent = {
        "Content-Type": "application/x-amz-json-1.1",
        "X-Amzn-ErrorType": code,
        **(headers or {}),
    }
    return status, sent, json.dumps({"__type": code, "Message": message})


def _denial(body: str) -> tuple[int, dict[str, str], str]:
    """Convert moto's error response, in the format of older services, to Glue's format."""
    code, message = (re.search(f"<{tag}>(.*?)</{tag}>", body) for tag in ("Code", "Message"))
    assert code is not None
    assert message is not None
    glue = {
        "AccessDenied": "AccessDeniedException",
        "InvalidClientTokenId": "UnrecognizedClientException",
        "SignatureDoesNotMatch": "InvalidSignatureException",
    }
    return _failure(glue[code.group(1)], message.group(1), 400)


def signer_of(response: Any) -> str | None:
    found = re.search(r"Credential=([^/]+)/", response.headers.get("Authorization", ""))
    return found and found.group(1)


def _expired(response: Any) -> bool:
    """Return whether the caller's role credentials have expired."""
    now = datetime.now(UTC).replace(tzinfo=None)
    signer = signer_of(response)
    for account in list(sts_backends):
        for partition in list(sts_backends[account]):
            for role in sts_backends[account][partition].assumed_roles:
                if role.access_key_id == signer:
                    return bool(role.expiration.replace(tzinfo=None) <= now)
    return False


def error_of(code: str, message: str) -> Exception:
    from moto.core.exceptions import JsonRESTError

    return JsonRESTError(code, message)


def invalid(message: str) -> Exception:
    return error_of("InvalidInputException", message)


def _violations(value: Any, shape: Shape | None, where: str) -> Iterator[str]:
    """Yield the parts of a message that violate the service's model."""
    if shape is None:
        if value:
            yield f"{where}: no members are allowed"
        return
    report = ParamValidator().validate(value, shape)
    if report.has_errors():
        yield f"{where}: {report.generate_report()}"
        return
    yield from _details(value, shape, where)


def _details(value: Any, shape: Shape, where: str) -> Iterator[str]:
    """Check what botocore does not: unknown members, lengths, patterns and enumerations."""
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            if name not in shape.members:
                yield f"{where}.{name}: there is no such member"
            else:
                yield from _details(member, shape.members[name], f"{where}.{name}")
    elif isinstance(shape, MapShape):
        for key, member in value.items():
            yield from _details(key, shape.key, f"{where} key {key}")
            yield from _details(member, shape.value, f"{where}[{key}]")
    elif isinstance(shape, ListShape):
        for position, member in enumerate(value):
            yield from _details(member, shape.member, f"{where}[{position}]")
    elif isinstance(shape, StringShape):
        if shape.enum and value not in shape.enum:
            yield f"{where}: {value!r} is not one of {', '.join(shape.enum)}"
        elif not _fits_pattern(value, shape.metadata.get("pattern")):
            yield f"{where}: {value!r} does not match {shape.metadata['pattern']}"
        elif len(value) > shape.metadata.get("max", len(value)):
            yield f"{where}: longer than {shape.metadata['max']}"
    elif shape.type_name in ("integer", "long") and value > shape.metadata.get("max", value):
        yield f"{where}: {value} is more than {shape.metadata['max']}"


def _fits_pattern(value: str, pattern: str | None) -> bool:
    if pattern is None or r"\p{" in pattern:
        return True
    # The model writes characters above U+FFFF as surrogate pairs, for Java.
    python = pattern.replace(r"\uD800\uDC00-\uDBFF\uDFFF", r"\U00010000-\U0010FFFF")
    return re.fullmatch(python, value) is not None
