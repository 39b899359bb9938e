"""All generated faults, and those of them that no client can distinguish from correct behavior."""

from __future__ import annotations

import re
from functools import cache

from . import contents, effects, mechanical
from .fields import ANSWER_FIELDS

__all__ = ["FAULTS", "OPEN", "left_open"]

FAULTS = {
    **mechanical.REQUESTS,
    **mechanical.ANSWERS,
    **mechanical.CODES,
    **effects.EFFECTS,
    **contents.CONTENTS,
}

_FILLED = (
    "DescribeTable answer version",
    "DescribeTable answer schema",
    "DescribeTable answer stats",
)
"""Optional fields that must be filled on request according to rest.yaml."""
_OPTIONAL = {
    f"{field.operation} answer {field.name}: left out" for field in ANSWER_FIELDS if not field.required
} - {f"{name}: left out" for name in _FILLED}  # fmt: skip

OPEN: tuple[tuple[str, str], ...] = (
    (r"AlterTableBackfillColumns|RefreshMaterializedView|CreateMaterializedView",
     "no namespace here carries it out"),
    (r"virtual_column", "no namespace here runs functions, which are code 0"),
    (r"computed", "servers that compute no columns refuse them"),
    (r"transaction_id", "a catalog need not have transactions, and their names are its own"),
    (r" answer .*page_token: (one|another|in the other|as text|of the same call)", "a token is opaque"),
    (r"request .*page_token: ", "a token is opaque: what a changed one means is the server's"),
    (r"request .*([Mm]ode|behavior|status|index_type|distance_type|naming_scheme|kind): in the other case",
     "these values are read in any letter case"),
    (r"request .*(filter|predicate|_filt|expression|where): in the other case",
     "the letter case of names in SQL is not laid down"),
    (r"request .*(ranges|alterations|updates|unset_properties|string_query.columns|multi_vector|on): reversed"
     r"|AlterTableDropColumns request columns: reversed|ListOperations answer operations: reversed",
     "their order says nothing"),
    (r"(AlterNamespace|AlterTable|UpdateTableTag|UpdateTableSchemaMetadata|UpdateFieldMetadata|DropNamespace"
     r"|DropTable|DeregisterTable|BatchDeleteTableVersions|CreateNamespace|CreateTable|BatchCreateTableVersions"
     r"|BatchCommitTables|CreateTableVersion|AlterTableAlterColumns|DeclareTable|AlterTransaction|RegisterTable"
     r") works twice",
     "the second time changes nothing, or is an overwrite with the same"),
    (r"InsertIntoTable stores: columns come in the order", "columns are matched by name"),
    (r"every (tag|name) is taken (quoted|up to|trimmed|normalised|decomposed|with a space)"
     r"|every id is taken up to the first slash",
     "Lance takes no tag of such a name, and catalogs no name with a slash"),
    (r"DescribeTable answer metadata: ", "which entries a dataset has is Lance's"),
    (r"ListTables remembered over|GetTableStats remembered over (Alter|Update)",
     "it differs only where rows are written past the catalog, or in calls at once"),
    (r"(num_segments|num_indices): (zero|one more)|type_url: empty|index_details: empty"
     r"|distance_type: in the other case", "in the server's own words"),
    (r"CreateTableScalarIndex request base_tokenizer|CreateTableIndex request branch"
     r"|CreateTable(Scalar)?Index request (base_tokenizer|language|distance_type): (in the other|without)",
     "what it cannot build it may refuse"),
    (r"max_token_length: one (more|less)", "whether a word of just that length counts is not laid down"),
    (r"works and fails with code 14", "a conflict with another writer may be answered at any time"),
    (r"CreateNamespace code (1|3): code 13|(CreateTable|AlterTableAddColumns) code 20: code 13"
     r"|RestoreTable code 13: code 0|DescribeTransaction code 13|TableExists code 13: code 0"
     r"|(Drop|Deregister|Declare)\w+ code 13: code 0|CreateTableTag code 0: code 13",
     "protocol semantics: either code says that this catalog cannot hold such an object"),
    (r"request (nprobes|minimum_nprobes|maximum_nprobes|bypass_vector_index|refine_factor): ",
     "an approximate search may find more than it has to"),
    (r"MergeInsertIntoTable stores: (rows are reversed|columns come in the order)",
     "the order of merged rows and of columns that are matched by name says nothing"),
    (r"MergeInsertIntoTable stores: (halves are singles|small numbers are|times without a zone are UTC)",
     "the same values once they are of the column's type"),
    (r"e_tag: empty|size_bytes: zero|index_version: zero|index_uuid: in the other case|lengths.p25"
     r"|version.metadata: with a key more|versions\[\].metadata: (with|empty)",
     "a catalog may keep none, or more"),
    (r"BatchCommitTables answer results\[\].(deregister_table|delete_table_versions): empty",
     "all of its fields are optional"),
    (r"QueryTable gives: metadata of the schema is lost", "the rows of a query are not the table's schema"),
    (r"request (use_index|query.use_index|.*\.?ef|ef_construction|m|sample_rate|max_iterations"
     r"|num_partitions|target_partition_size|num_bits|num_sub_vectors|timeout)(:| )",
     "it changes how long a call takes, or how near an approximate search comes"),
    (r"vend_credentials|storage_options", "storage on this machine has no options and no credentials"),
    (r"UpdateTable (request|answer) properties", "an implementation that cannot keep them ignores them"),
    (r"(Explain|Analyze)TableQueryPlan request query.*|AnalyzeTableQueryPlan request |verbose",
     "the form of a plan is not fixed"),
    (r"(Explain|Analyze)TableQueryPlan answer (plan|analysis): (another|in the other case|of the)",
     "the form of a plan is not fixed"),
    (r"manifest_size: (ignored|one|zero)|naming_scheme: (ignored|without)",
     "a catalog may look itself, and the name of a manifest is its own"),
    (r" code 12: code 13", "the published texts of fields: a path that leads nowhere is either"),
    (r" code (14|15|16|17|18|19|21): ", "a client cannot bring it about, or either code is right"),
    (r"DropNamespace code 1: success", "protocol semantics: a catalog's own specification may want it"),
    (r"(status|index_details|type_url|index_version|index_type|num_segments|size_bytes|instance|detail)"
     r": (another|in the other case|one more|one less|of the)", "in the server's own words"),
    (r"created_at|createAt|timestamp_millis|manifestSize|total_bytes|e_tag: (ignored|another|in the)",
     "no client knows the right value to a unit"),
)  # fmt: skip
"""Patterns of faults that are not run, with the reason."""


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(pattern), reason) for pattern, reason in OPEN]


def left_open(name: str) -> str | None:
    """Return why a fault is not run, or None if it is run."""
    if name in _OPTIONAL:
        return "the field is optional"
    return next((reason for pattern, reason in _patterns() if pattern.search(name)), None)
