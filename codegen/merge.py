"""Merges upstream's OpenAPI document into the annotated specification.

Upstream's document has no annotations: no routes by name, error codes or permissions. The merge
starts from the annotated specification and changes what differs, so descriptions, annotations and
comments remain. New operations receive default annotations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import define, frozen
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from .check import METHODS, has_type
from .document import Document, target
from .driver import FILE, STREAM
from .notation import Converter, Json, as_list, camel, named, nested, reference_of, without_null
from .tree import dump, flow, insert, is_short, plain, put, text_node, toggle, tree
from .upstream import PROSE, differences

__all__ = ["ORIGIN", "Merged", "merge"]

JSON = "application/json"
ORIGIN = "x-merged-from"
"""Entry of `info` in a specification that a merge wrote: the name of upstream's document.

Its protocol is upstream's, so it is not compared with the installed package.
"""
LOCAL = "x-local"
"""Marks parts that the merge keeps: additions, and fields that differ on purpose."""
IDENTITY, CONTEXT = "Identity", "Context"
READS = re.compile(r"(Get|List|Describe|Count|Query|Explain|Analyze|Search|Check)[A-Z]|.*Exists$")
OBJECTS = {"/v1/namespace/": 1, "/v1/table/": 4}
"""Code for a missing object, by the start of a route."""


@frozen
class Merged:
    """The result of a merge."""

    text: str
    """The annotated specification."""
    added: list[str]
    """New operations, with their default annotations."""
    removed: list[str]
    """Operations and models that are no longer in upstream's document."""
    changed: list[str]
    """Adopted differences: ``file:line: what: old and new``."""
    kept: list[str]
    """Differences that remain."""
    notes: list[str]
    """Conversions that lose something."""


def merge(ours: Document, theirs: Document, folder: Path, *, is_new: bool) -> Merged:
    """Return the annotated specification after the changes of upstream's document.

    Args:
        ours: the annotated specification; its tree is changed.
        theirs: upstream's document.
        folder: folder for a temporary copy of the result, which is compared with `theirs`.
        is_new: whether the result is another file than `ours`; it then names its origin.

    Raises:
        SpecError: one of them is not an OpenAPI 3 document, or they describe different APIs.
    """
    before = sorted(set(differences(ours, theirs)), key=lambda each: (each.line or 0, each.cause))
    work = _Merge(ours, theirs)
    work.run()
    if is_new:
        ours.tree["info"][ORIGIN] = theirs.path.name
    text = dump(ours.tree)
    copy = folder / "merged.yaml"
    copy.write_text(text, encoding="utf-8")
    remaining = list(differences(Document(copy, strict=False), theirs))
    causes = {each.cause for each in remaining}
    return Merged(
        text=text,
        added=work.added,
        removed=list(dict.fromkeys(work.removed)),
        changed=[str(each) for each in before if each.cause not in causes],
        kept=sorted(each.cause for each in remaining),
        notes=sorted(set(work.converter.notes)),
    )


@define
class _Operation:
    """An operation of upstream's document."""

    name: str
    method: str
    path: str
    raw: Json
    parameters: list[Json]
    """Resolved parameters, including those of the path."""


class _Merge:
    """One merge, which changes the tree of `ours`."""

    def __init__(self, ours: Document, theirs: Document) -> None:
        self.added: list[str] = []
        self.removed: list[str] = []
        self.converter = Converter(theirs)
        self._theirs = theirs
        self._tree = ours.tree
        self._before = ours.data
        self._paths: CommentedMap = self._tree["paths"]
        self._models: CommentedMap = self._tree["components"]["schemas"]
        self._shared: dict[str, Json] = {}
        """The rules that each shared parameter has in upstream's document."""
        self._same = Converter(ours)

    def run(self) -> None:
        """Merge models, then operations, and remove parts that upstream no longer has."""
        known = self._before["components"]["schemas"]
        self.converter.convert_models(known)
        self._same.convert_models(known)
        self._merge_models()
        operations = list(self._operations())
        previous = None
        for operation in operations:
            self._merge_operation(operation, previous)
            previous = operation
        self._remove_operations({each.name for each in operations})
        self._remove_models()

    # --- models

    def _merge_models(self) -> None:
        previous: str | None = None
        for name, model in self.converter.models.items():
            if name in self._models:
                self._merge_model(name, model)
            else:
                _describe(model, f"The model `{name}`.")
                insert(self._models, previous, name, tree(model))
            previous = name

    def _merge_model(self, name: str, model: Json) -> None:
        mine = self._models[name]
        if "properties" not in model or "properties" not in mine:
            if _essence(self._same.models.get(name)) != _essence(model):
                self._models[name] = _replaced(mine, model)
            return
        fields, known = mine["properties"], self._same.models[name].get("properties", {})
        previous: str | None = None
        for key, schema in model["properties"].items():
            if key not in fields:
                _describe(schema, f"The field `{key}`.")
                insert(fields, previous, key, tree(schema))
            elif not fields[key].get(LOCAL) and _essence(known.get(key)) != _essence(schema):
                fields[key] = _replaced(fields[key], schema)
            previous = key
        for key in [each for each in fields if each not in model["properties"]]:
            if not fields[key].get(LOCAL):
                del fields[key]
        required = [key for key in model.get("required", ()) if key in fields]
        required += [
            key for key in mine.get("required", ()) if key in fields and fields[key].get(LOCAL)
        ]
        if sorted(mine.get("required", ())) != sorted(required):
            if required:
                put(mine, "required", flow(required), before="properties")
            else:
                del mine["required"]

    def _remove_models(self) -> None:
        """Remove the models that upstream's document no longer has and no other part uses."""
        while True:
            used = set(nested(plain(self._paths)))
            used |= set(nested(plain(self._tree["components"].get("parameters", {}))))
            used |= set(nested(plain(self._tree["components"].get("responses", {}))))
            for name, model in self._models.items():
                used |= set(nested(plain(model))) - {name}
            gone = [
                name
                for name, model in self._models.items()
                if name not in used
                and name not in self.converter.models
                and name not in (IDENTITY, CONTEXT)
                and not model.get(LOCAL)
                and not self._is_annotated(name)
            ]
            if not gone:
                return
            for name in gone:
                del self._models[name]
                self.removed.append(f"model {name}")

    def _is_annotated(self, name: str) -> bool:
        return any(
            name in (each.get("x-request"), each.get("x-response"))
            for _, _, each in _routes(self._paths)
        )

    # --- operations

    def _operations(self) -> Iterator[_Operation]:
        data = self._theirs.data
        for path, item in data.get("paths", {}).items():
            item = self._resolved(item)
            for method in METHODS:
                raw = item.get(method) if isinstance(item, dict) else None
                if not isinstance(raw, dict) or _is_by_name(path, method, raw):
                    continue
                parameters: dict[tuple[str, str], Json] = {}
                for each in [*as_list(item.get("parameters")), *as_list(raw.get("parameters"))]:
                    each = self._resolved(each)
                    parameters[str(each.get("in")), str(each.get("name"))] = each
                identifier = raw.get("x-operation") or raw.get("operationId")
                name = camel(str(identifier or f"{method}_{path.removeprefix('/v1')}"))
                yield _Operation(name, method, path, raw, list(parameters.values()))

    def _resolved(self, part: Any) -> Any:
        seen = set()
        while isinstance(part, dict) and isinstance(part.get("$ref"), str):
            reference = part["$ref"]
            found = target(self._theirs.data, reference)
            if found is None or reference in seen:
                return {}
            seen.add(reference)
            part = found[1]
        return part

    def _merge_operation(self, theirs: _Operation, previous: _Operation | None) -> None:
        mine = _route(self._paths, theirs.name)
        if mine is None:
            self._add_operation(theirs, previous)
            return
        path, method, route = mine
        if (path, method) != (theirs.path, theirs.method):
            del self._paths[path][method]
            item = self._paths.get(theirs.path)
            if item is None:
                insert(self._paths, path, theirs.path, CommentedMap())
                item = self._paths[theirs.path]
            item[theirs.method] = route
            if not self._paths[path]:
                del self._paths[path]
        body, answer = self._body(theirs, route), self._answer(theirs, route)
        if body is None or answer is None:
            return
        self._set_body(route, body)
        self._set_answer(route, answer, theirs)
        self._set_models(route, theirs, body, answer)
        self._set_parameters(route, theirs)
        if bool(route.get("deprecated")) != bool(theirs.raw.get("deprecated")):
            toggle(route, "deprecated", value=bool(theirs.raw.get("deprecated")))
        self._set_by_name(theirs.name, route)

    def _add_operation(self, theirs: _Operation, previous: _Operation | None) -> None:
        name, raw = theirs.name, theirs.raw
        route = CommentedMap()
        body, answer = self._body(theirs, route), self._answer(theirs, route)
        if body is None or answer is None:
            return
        is_read = theirs.method == "get" or READS.match(name) is not None
        tags = [each["name"] for each in self._tree.get("tags", ())]
        tag = next((each for each in as_list(raw.get("tags")) if each in tags), None)
        is_data = "Data" in as_list(raw.get("tags"))
        codes = [code for start, code in OBJECTS.items() if theirs.path.startswith(start + "{")]
        action = "read" if is_read else "write" if is_data else "manage"
        route |= {
            "operationId": name,
            "summary": _line(raw.get("summary")) or f"{_words(name)}",
            "description": text_node(raw.get("description") or raw.get("summary") or _words(name)),
            "tags": flow([tag or (tags[0] if tags else "Service")]),
            "x-operation": name,
            "x-request": "",
            "x-response": "",
            "x-codes": flow(codes),
            "x-action": action,
            "x-repeatable": is_read,
            "parameters": CommentedSeq(),
            "responses": CommentedMap(),
        }
        if raw.get("deprecated") is True:
            route["deprecated"] = True
        self._set_body(route, body)
        self._set_answer(route, answer, theirs)
        self._set_models(route, theirs, body, answer)
        self._set_parameters(route, theirs)
        place = None if previous is None else previous.path
        item = self._paths.get(theirs.path)
        if item is None:
            insert(self._paths, place, theirs.path, CommentedMap())
            item = self._paths[theirs.path]
        item[theirs.method] = route
        self._set_by_name(name, route)
        self.added.append(
            f"{name} ({theirs.method.upper()} {theirs.path}): x-action {action}, x-codes {codes}, "
            f"x-repeatable {str(is_read).lower()}"
        )

    def _remove_operations(self, names: set[str]) -> None:
        for path, method, route in list(_routes(self._paths)):
            name = route.get("x-operation")
            if name in names or not name:
                continue
            main = _route(self._paths, name)
            if main is not None and main[2].get(LOCAL):
                continue
            del self._paths[path][method]
            if not self._paths[path]:
                del self._paths[path]
            if main is None or main[2] is route:
                self.removed.append(f"operation {name}")

    # --- parts of an operation

    def _body(self, theirs: _Operation, route: Mapping[str, Any]) -> Json | None:
        """Return the request body: its media type, schema and whether it is required; may be empty."""
        raw = self._resolved(theirs.raw.get("requestBody"))
        content = raw.get("content") if isinstance(raw, dict) else None
        if not content:
            return {}
        found = self._media(content, (JSON, STREAM), theirs, "request body")
        if found is None:
            return None
        known = _schema_of(route.get("requestBody", {}), found[0])
        schema = self._content_schema(found, theirs, known, "Request")
        return {
            "media": found[0],
            "schema": schema,
            "required": raw.get("required") is True,
            "description": raw.get("description"),
        }

    def _answer(self, theirs: _Operation, route: Mapping[str, Any]) -> Json | None:
        """Return the successful response: its status, media type and schema."""
        responses = theirs.raw.get("responses") or {}
        status = next((str(key) for key in responses if re.fullmatch(r"2\d\d", str(key))), "200")
        raw = self._resolved(responses.get(status, responses.get(int(status), {})))
        content = raw.get("content") if isinstance(raw, dict) else None
        if not content:
            return {"status": status, "description": (raw or {}).get("description")}
        found = self._media(content, (JSON, FILE), theirs, "response")
        if found is None:
            return None
        mine = self._ours_resolved(route.get("responses", {}).get(status, {}))
        schema = self._content_schema(found, theirs, _schema_of(mine, found[0]), "Response")
        return {
            "status": status,
            "media": found[0],
            "schema": schema,
            "description": raw.get("description"),
        }

    def _media(
        self, content: Json, known: tuple[str, ...], theirs: _Operation, what: str
    ) -> tuple[str, Any] | None:
        for media in known:
            if media in content:
                return media, (content[media] or {}).get("schema", {})
        self.converter.notes.append(
            f"operation {theirs.name}: is omitted, because a {what} of "
            f"{' or '.join(content)} cannot be generated"
        )
        return None

    def _content_schema(
        self, found: tuple[str, Any], theirs: _Operation, known: Any, suffix: str
    ) -> Json:
        media, raw = found
        if media != JSON:
            return {"type": "string", "format": "binary"}
        before = set(self.converter.models)
        schema = self.converter.schema(raw, f"{theirs.name} {suffix}", known, theirs.name + suffix)
        for name in self.converter.models.keys() - before:
            _describe(self.converter.models[name], f"The {suffix.lower()} of {theirs.name}.")
            if name in self._models:
                self._same.models[name] = self._same.models.get(name, {})
                self._merge_model(name, self.converter.models[name])
            else:
                self._models[name] = tree(self.converter.models[name])
        return schema

    def _ours_resolved(self, part: Any) -> Any:
        while isinstance(part, Mapping) and "$ref" in part:
            found = target(self._before, part["$ref"])
            part = {} if found is None else found[1]
        return part

    def _set_body(self, route: CommentedMap, body: Json) -> None:
        if not body:
            route.pop("requestBody", None)
            return
        mine = route.get("requestBody")
        known = _schema_of(mine or {}, body["media"])
        if mine is None or _essence(plain(known)) != _essence(body["schema"]):
            new = CommentedMap()
            new["description"] = text_node(
                (mine or {}).get("description") or body["description"] or "The request."
            )
            new["content"] = _content(body["media"], body["schema"])
            put(route, "requestBody", new, before="responses")
            mine = new
        if bool(mine.get("required")) != body["required"]:
            if body["required"]:
                put(mine, "required", True, before="content")
            else:
                del mine["required"]

    def _set_answer(self, route: CommentedMap, answer: Json, theirs: _Operation) -> None:
        responses = route["responses"]
        status = answer["status"]
        for other in [each for each in responses if re.fullmatch(r"2\d\d", str(each))]:
            if str(other) != status:
                del responses[other]
        mine = self._ours_resolved(responses.get(status, {}))
        known = _schema_of(mine, answer.get("media", JSON))
        same = "media" in answer and known is not None
        same = same and _essence(plain(known)) == _essence(answer["schema"])
        if status not in responses or not (
            same or ("media" not in answer and not mine.get("content"))
        ):
            new = CommentedMap()
            new["description"] = text_node(
                mine.get("description") or answer["description"] or "The result."
            )
            if "media" in answer:
                new["content"] = _content(answer["media"], answer["schema"])
            if status in responses:
                responses[status] = new
            else:
                responses.insert(0, status, new)
        for key in theirs.raw.get("responses") or {}:
            text = str(key).upper()
            if not text.startswith("2") and text not in map(str, responses) and text[:2] != "X-":
                responses[text] = self._failure(text)
        _order_statuses(responses)

    def _failure(self, status: str) -> Any:
        """Return an error response, as other operations describe it."""
        for _, _, route in _routes(self._paths):
            found = route.get("responses", {}).get(status)
            if found is not None:
                return tree(plain(found))
        return tree(
            {
                "description": f"A failure with HTTP status {status}.",
                "content": {JSON: {"schema": named("ErrorResponse")}},
            }
        )

    def _set_models(
        self, route: CommentedMap, theirs: _Operation, body: Json, answer: Json
    ) -> None:
        """Set the models of the request and the response, and the field of a bare body."""
        for key, part, suffix, bare in (
            ("x-request", body, "Request", "x-body-field"),
            ("x-response", answer, "Response", "x-response-field"),
        ):
            is_json = part.get("media") == JSON
            whole = reference_of(part["schema"]) if is_json else None
            if whole is not None and "properties" not in self._models.get(whole, {}):
                whole = None
            name = whole or route.get(key) or theirs.name + suffix
            if name not in self._models:
                model = {"description": f"The {suffix.lower()} of {theirs.name}.", "type": "object"}
                self._models[name] = tree(model | {"properties": {}})
            route[key] = name
            fields = self._models[name]["properties"]
            headers = {"context": CONTEXT}
            if suffix == "Request":
                headers = {"identity": IDENTITY} | headers
            for field_name, model_name in headers.items():
                if reference_of(plain(fields.get(field_name))) != model_name:
                    text = f"{model_name} of the call, which is sent as headers."
                    fields[field_name] = tree({"description": text} | named(model_name))
            if whole is not None or not is_json:
                route.pop(bare, None)
            elif route.get(bare) not in fields:
                put(route, bare, self._bare_field(fields, part["schema"]), after=key)

    def _bare_field(self, fields: CommentedMap, schema: Json) -> str:
        """Return the field that a bare body sets; it is added if none has the same type."""
        for name, found in fields.items():
            if _essence(plain(found)) == _essence(schema):
                return str(name)
        _describe(schema, "The whole body.")
        fields["value"] = tree(schema)
        return "value"

    # --- parameters

    def _set_parameters(self, route: CommentedMap, theirs: _Operation) -> None:
        wanted: dict[tuple[str, str], Json] = {}
        for each in theirs.parameters:
            if each.get("in") not in ("path", "query"):
                self.converter.notes.append(
                    f"operation {theirs.name}: the {each.get('in')} parameter {each.get('name')} is "
                    "omitted; `identity` and `context` are sent as headers"
                )
                continue
            wanted[str(each["in"]), str(each["name"])] = each
        listed = route.setdefault("parameters", CommentedSeq())
        known = {self._key_of(each): index for index, each in enumerate(listed)}
        for key in [each for each in known if each not in wanted]:
            if not self._is_local(listed[known[key]]):
                listed[known[key]] = None
        for key, raw in wanted.items():
            new = self._parameter(raw, theirs, route)
            if key not in known:
                listed.append(self._listed(new))
            else:
                self._update(listed, known[key], new)
        for index in reversed(range(len(listed))):
            if listed[index] is None:
                del listed[index]
        self._carry(route, theirs, {name for _, name in wanted})
        if not listed:
            del route["parameters"]

    def _key_of(self, entry: Any) -> tuple[str, str]:
        found = self._component(entry)[1]
        return str(found.get("in")), str(found.get("name"))

    def _component(self, entry: Any) -> tuple[str | None, CommentedMap]:
        """Return the name of a shared parameter and the parameter."""
        if "$ref" in entry:
            name = str(entry["$ref"]).rpartition("/")[2]
            return name, self._tree["components"]["parameters"][name]
        return None, entry

    def _is_local(self, entry: Any) -> bool:
        return bool(self._component(entry)[1].get(LOCAL))

    def _parameter(self, raw: Json, theirs: _Operation, route: CommentedMap) -> Json:
        name = str(raw["name"])
        where = f"operation {theirs.name}, parameter {name}"
        schema = self.converter.schema(
            raw.get("schema", {"type": "string"}), where, None, camel(name)
        )
        self._feed(where, route["x-request"], raw, schema)
        new: Json = {
            "name": name,
            "in": raw["in"],
            "required": raw.get("required") is True or raw["in"] == "path",
            "description": raw.get("description") or f"The field `{name}` of the request.",
            "schema": _prose_free(schema),
        }
        if name != "delimiter":
            new["x-field"] = name
        return new

    def _feed(self, where: str, request: str, raw: Json, schema: Json) -> None:
        """Ensure that the request has a field that a parameter can set."""
        name, fields = str(raw["name"]), self._models[request]["properties"]
        needed: Json | None = None
        if raw["in"] == "path":
            needed = {"type": "string"}
            if name == "id":
                needed = {"type": "array", "items": {"type": "string"}}
        if name in fields:
            field = fields[name]
            while "$ref" in field:
                field = self._models[reference_of(plain(field))]
            kind = without_null(plain(field)).get("type")
            kinds = kind if isinstance(kind, list) else [kind]
            if needed is None and kinds == [None] and not reference_of(plain(field)):
                needed = {"type": "string"}
            if needed is not None and needed["type"] not in kinds:
                self.converter.notes.append(f"{where}: its field gets the type {needed['type']}")
                for key in [key for key in field if key not in PROSE]:
                    del field[key]
                field.update(tree(needed))
        elif name != "delimiter":
            self.converter.notes.append(f"{where}: sets the new field {name} of {request}")
            text = raw.get("description") or f"The field `{name}`."
            fields[name] = tree({"description": text} | (needed or _prose_free(schema)))

    def _listed(self, new: Json) -> Any:
        """Return a shared parameter with the same rules, or the parameter itself."""
        for name, each in self._tree["components"].get("parameters", {}).items():
            if _rules_of(plain(each)) == _rules_of(new):
                found = tree({"$ref": f"#/components/parameters/{name}"})
                found.fa.set_flow_style()
                return found
        return tree(new)

    def _update(self, listed: CommentedSeq, index: int, new: Json) -> None:
        """Adopt the rules of a parameter; a shared one changes once, for all of its operations."""
        shared, mine = self._component(listed[index])
        new = {**new, "x-field": mine["x-field"]} if "x-field" in mine else new
        if _rules_of(plain(mine)) == _rules_of(new):
            if shared is not None:
                self._shared.setdefault(shared, new)
            return
        if shared is not None and _rules_of(self._shared.setdefault(shared, new)) != _rules_of(new):
            listed[index] = tree({**new, "description": mine["description"]})
            return
        mine["required"] = new["required"]
        mine["schema"] = _replaced(mine["schema"], new["schema"])
        if is_short(mine["schema"]):
            mine["schema"].fa.set_flow_style()

    def _carry(self, route: CommentedMap, theirs: _Operation, names: set[str]) -> None:
        """Add parameters for fields that no part of the request would send."""
        if JSON in route.get("requestBody", {}).get("content", {}) and "x-body-field" not in route:
            return
        sent = {"identity", "context", "id", route.get("x-body-field")} | names
        sent |= {self._component(each)[1].get("x-field") for each in route["parameters"]}
        for name, schema in self._models[route["x-request"]]["properties"].items():
            if name in sent:
                continue
            self.converter.notes.append(
                f"operation {theirs.name}: the field {name} is sent as a query parameter, which "
                "upstream's document lacks"
            )
            route["parameters"].append(
                self._listed(
                    {
                        "name": name,
                        "in": "query",
                        "required": False,
                        "description": f"The field `{name}` of the request.",
                        "schema": _prose_free(plain(schema)),
                        "x-field": name,
                    }
                )
            )

    # --- routes by name

    def _set_by_name(self, name: str, route: CommentedMap) -> None:
        """Add or adapt the routes `POST /<Name>` of an operation."""
        others = [
            (path, each)
            for path, method, each in _routes(self._paths)
            if each.get("x-operation") == name and _is_by_name(path, method, each)
        ]
        new = self._by_name(name, route)
        if f"/{name}" not in [path for path, _ in others]:
            last = [
                path
                for path, method, each in _routes(self._paths)
                if _is_by_name(path, method, each)
            ]
            item = CommentedMap()
            item["post"] = new
            insert(self._paths, last[-1] if last else None, f"/{name}", item)
        for _, each in others:
            for key in ("requestBody", "parameters"):
                mine = plain(each.get(key))
                if self._shape(mine) != self._shape(plain(new[key])):
                    each[key] = new[key]
            _copy_success(route["responses"], each["responses"])

    def _shape(self, part: Any) -> Any:
        if isinstance(part, list):
            return sorted(self._key_of(each) for each in part)
        return _essence((part or {}).get("content"))

    def _by_name(self, name: str, route: CommentedMap) -> CommentedMap:
        is_stream = STREAM in route.get("requestBody", {}).get("content", {})
        listed = [each for each in route.get("parameters", ()) if self._key_of(each)[0] == "query"]
        if is_stream:
            ids = [each for each in route["parameters"] if self._key_of(each)[0] == "path"]
            for each in ids:
                found = plain(self._component(each)[1])
                listed.insert(0, self._listed(found | {"in": "query"}))
        else:
            listed = [each for each in listed if self._key_of(each)[1] == "delimiter"]
        where = "query" if is_stream else "JSON body"
        schema = {"type": "string", "format": "binary"} if is_stream else named(route["x-request"])
        return CommentedMap(
            {
                "operationId": f"{name}ByName",
                "summary": route["summary"],
                "description": f"{name} by name: fields that the `/v1` route reads from the path or the "
                f"query are in the {where}.",
                "tags": flow(list(route["tags"])),
                "x-operation": name,
                "parameters": CommentedSeq(tree(plain(each)) for each in listed),
                "requestBody": CommentedMap(
                    {
                        "description": "The rows, as an Arrow IPC stream."
                        if is_stream
                        else "The request; an empty body is an empty request.",
                        "content": _content(STREAM if is_stream else JSON, schema),
                    }
                ),
                "responses": tree(plain(route["responses"])),
            }
        )


def _routes(paths: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for path, item in paths.items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _route(paths: Mapping[str, Any], name: str) -> tuple[str, str, Any] | None:
    """Return the main route of an operation."""
    for path, method, route in _routes(paths):
        if route.get("x-operation") == name and not _is_by_name(path, method, route):
            return path, method, route
    return None


def _is_by_name(path: str, method: str, route: Mapping[str, Any]) -> bool:
    return path.count("/") == 1 and method == "post" and "x-operation" in route


def _schema_of(holder: Any, media: str) -> Any:
    """Return the schema of a body in one media type."""
    content = holder.get("content") if isinstance(holder, Mapping) else None
    return (content or {}).get(media, {}).get("schema") if content else None


def _line(text: Any) -> str:
    return " ".join(str(text).split()) if text else ""


def _words(name: str) -> str:
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()
    return text[:1].upper() + text[1:]


def _describe(schema: Json, text: str) -> None:
    """Add descriptions to a new model and its fields, because codegen requires them."""
    if not str(schema.get("description") or "").strip():
        schema.pop("description", None)
        rest = dict(schema)
        schema.clear()
        schema |= {"description": text} | rest
    for key, inner in schema.get("properties", {}).items():
        _describe(inner, f"The field `{key}`.")


def _content(media: str, schema: Json) -> CommentedMap:
    inner = tree(schema)
    inner.fa.set_flow_style()
    holder = CommentedMap({"schema": inner})
    return CommentedMap({media: holder})


def _replaced(mine: Any, schema: Json) -> CommentedMap:
    """Return a schema with the description and annotations of the one that it replaces."""
    found = CommentedMap()
    if isinstance(mine, Mapping):
        if "description" in mine:
            found["description"] = mine["description"]
        elif "description" in schema:
            found["description"] = text_node(schema["description"])
    for key, value in schema.items():
        if key not in PROSE:
            found[key] = tree({key: value})[key]
    for key, value in mine.items() if isinstance(mine, Mapping) else ():
        if key.startswith("x-") and _still_applies(key, value, schema):
            found[key] = value
    return found


def _still_applies(key: str, value: Any, schema: Json) -> bool:
    """Return whether an annotation of a field is possible with its new schema."""
    kind = schema.get("type")
    kinds = [each for each in (kind if isinstance(kind, list) else [kind]) if each != "null"]
    if key == "x-one-or-many":
        return kinds == ["array"]
    if key == "x-client-default" and value is not None:
        return has_type(plain(value), str(kinds[0]), schema)
    return True


def _prose_free(schema: Json) -> Json:
    return {key: value for key, value in schema.items() if key not in PROSE and key[:2] != "x-"}


def _essence(schema: Any) -> Any:
    """Return a schema without prose and annotations, for comparisons."""
    if isinstance(schema, Mapping):
        return {
            str(key): sorted(value) if key in ("required", "enum") else _essence(value)
            for key, value in schema.items()
            if key not in PROSE and not str(key).startswith("x-")
        }
    if isinstance(schema, list | tuple):
        return [_essence(each) for each in schema]
    return schema


def _rules_of(parameter: Json) -> Any:
    """Return the parts of a parameter that affect requests."""
    return (
        parameter.get("name"),
        parameter.get("in"),
        bool(parameter.get("required")),
        parameter.get("x-field"),
        repr(_essence(parameter.get("schema"))),
    )


def _copy_success(source: CommentedMap, copy: CommentedMap) -> None:
    """Replace the successful response of a route by name if it differs."""
    found = {str(key): plain(each) for key, each in source.items() if str(key)[:1] == "2"}
    if {str(key): plain(each) for key, each in copy.items() if str(key)[:1] == "2"} == found:
        return
    for key in [each for each in copy if str(each)[:1] == "2"]:
        del copy[key]
    for key, each in found.items():
        copy.insert(0, key, tree(each))


def _order_statuses(responses: CommentedMap) -> None:
    keys = list(responses)
    ordered = sorted(keys, key=lambda key: str(key).replace("X", "Z").upper())
    if keys != ordered:
        for key in ordered:
            responses.move_to_end(key)
