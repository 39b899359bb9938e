"""Wrong namespaces and servers: a correct one behind a single fault, which the kit must catch.

Add a fault for a new check with `python.add(name, check id, act)`, in the module of its subject:

- `tables`: tables, rows, versions, tags, branches, indices and columns
- `replaced`: replaced, moved and nested objects, and the spelling of names
- `storage`: locations, and objects with equal names
- `together`: features that work alone, but not in combination
- `managed`: table versions that the catalog manages
- `wire`: HTTP, with a transport instead of an act

An act receives each call and returns a wrong reply, or None for the correct one. `python` has
builders for the usual ones: `code_instead`, `without`, `with_field`, `answer`, `no_effect` and
others. `test_wrong.py` runs the check of each of these faults, and `test_fresh_wrong.py` the
affected checks of all others.

The other modules are not meant for additions. `batch_1` to `batch_9`, `fresh`, `fresh_answers`,
`habits`, `values` and `sentences` were written from the documents, without knowledge of the checks.
`generated`, `contents`, `effects` and `mechanical` are derived from the operations and models.
"""
