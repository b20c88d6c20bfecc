#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Validate documents of peaktop against docs/peaktop.schema.json.

    validate_json.py [--kind KIND] [--open] [--summary] FILE...

A FILE ("-": standard input) holds one document, or one a line (--json-lines).
Besides the schema: no null anywhere, no key twice, no field that the schema
does not name (unless --open: a newer peaktop may have more), buckets ascending
and disjoint, counts that sum to `calls`, shares of paths that sum to `explained`,
parts of an operation's time that do not overlap and add up to it.
Exit status: 0 all valid, 1 not (one line an error), 2 usage.
"""
import argparse
import copy
import json
import os
import sys

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "docs", "peaktop.schema.json")
ROOTS = ("watch", "descend", "chains", "critical", "doctor", "diff", "why")  # parts of the top object, not objects themselves


def close(schema, name=None):
    """Let no object have a field that it does not name."""
    if isinstance(schema, list):
        for item in schema:
            close(item)
    elif isinstance(schema, dict):
        for key, value in schema.items():
            if key in ("properties", "$defs"):
                for child, sub in value.items():
                    close(sub, child if key == "$defs" else None)
            elif key != "if":
                close(value)
        if "properties" in schema and name not in ROOTS:
            # Older jsonschema (4.10 of Debian 12 and Ubuntu 24.04) looks for what is unevaluated by validating what is
            # below once more, at every level: an ftree of 40 levels would take for ever.
            alone = not schema.keys() & {"$ref", "allOf", "anyOf", "oneOf", "if"}
            schema["additionalProperties" if alone else "unevaluatedProperties"] = False


def unique(pairs):
    seen = {}
    for key, value in pairs:
        if key in seen:
            raise ValueError("key twice: %s" % key)
        seen[key] = value
    return seen


def no_constant(name):
    raise ValueError("not JSON: %s" % name)


def parse(text):
    """The documents in `text`: one, or one a line."""
    def load(s):
        return json.loads(s, object_pairs_hook=unique, parse_constant=no_constant)

    try:
        return [load(text)]
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise
        return [load(line) for line in lines]


def nulls(value, where="$"):
    if value is None:
        yield "%s: null" % where
    elif isinstance(value, dict):
        for key, sub in value.items():
            yield from nulls(sub, "%s.%s" % (where, key))
    elif isinstance(value, list):
        for i, sub in enumerate(value):
            yield from nulls(sub, "%s[%d]" % (where, i))


def check_buckets(buckets, where):
    end = 0
    for b in buckets:
        if b["low_ns"] < end or b["high_ns"] <= b["low_ns"]:
            yield "%s: bucket [%d, %d) is out of order" % (where, b["low_ns"], b["high_ns"])
        end = b["high_ns"]


def check_operation(op):
    name = op["name"]
    yield from check_buckets(op["buckets"], name)
    total = sum(b["count"] for b in op["buckets"])
    if total != op["calls"]:
        yield "%s: the buckets sum to %d, calls is %d" % (name, total, op["calls"])
    start = -1
    for s in op["slices"]:
        yield from check_buckets(s["buckets"], "%s at %d" % (name, s["start_ns"]))
        if s["start_ns"] <= start:
            yield "%s: slice at %d is out of order" % (name, s["start_ns"])
        start = s["start_ns"]
    for i, p in enumerate(op["peaks"]):
        if p["peak"] != i + 1:
            yield "%s: peak %d stands at rank %d" % (name, p["peak"], i + 1)
        if not p["low_ns"] <= p["mode_ns"] < p["high_ns"]:
            yield "%s: the mode of peak %d is outside of it" % (name, p["peak"])
    for share in ("share_of_calls", "share_of_time"):
        if sum(p[share] for p in op["peaks"]) > 1.001:
            yield "%s: %s of the peaks sum to more than all" % (name, share)


def check_parts(parts, rest):
    shares = [p["share_of_time"] for p in parts]
    if shares != sorted(shares, reverse=True):
        yield "the parts are not in order: %s" % shares
    if abs(sum(shares) + rest - 1) > 1e-6:
        yield "the shares of the parts and the rest sum to %f" % (sum(shares) + rest)
    end = 0
    for p in sorted(parts, key=lambda p: p["low_ns"]):
        if p["low_ns"] < end or p.get("high_ns", float("inf")) <= p["low_ns"]:
            yield "the part from %d ns on overlaps another one" % p["low_ns"]
        end = p.get("high_ns", float("inf"))


def check_meaning(doc):
    if doc["kind"] == "watch":
        for op in doc["operations"]:
            yield from check_operation(op)
    if doc["kind"] == "descend":
        for answer in [doc] + doc.get("parts", []):
            total = sum(p["share"] for p in answer["paths"])
            if abs(total - answer["explained"]) > 0.01:
                yield "the shares of the paths sum to %.3f, explained is %.3f" % (total, answer["explained"])
        if "parts" in doc:
            yield from check_parts(doc["parts"], doc["rest"])
        if "profile" in doc:
            yield from check_operation(doc["profile"])


def errors_of(doc, validator):
    found = list(nulls(doc))
    for e in validator.iter_errors(doc):
        where = "".join("[%d]" % p if isinstance(p, int) else "." + p for p in e.absolute_path)
        found.append("$%s: %s" % (where, e.message[:300]))
    return found or list(check_meaning(doc))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--kind", help="every document must be of this kind")
    p.add_argument("--open", action="store_true", help="allow fields that the schema does not name")
    p.add_argument("--summary", action="store_true", help="say how many documents were valid")
    p.add_argument("file", nargs="+")
    args = p.parse_args()
    with open(SCHEMA, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft202012Validator.check_schema(schema)
    if not args.open:
        schema = copy.deepcopy(schema)
        close(schema)
    validator = jsonschema.Draft202012Validator(schema)
    bad = good = 0
    for name in args.file:
        try:
            with open(0 if name == "-" else name, "rb") as f:
                docs = parse(f.read().decode("utf-8"))
        except (OSError, ValueError) as e:
            print("%s: %s" % (name, e))
            bad += 1
            continue
        for i, doc in enumerate(docs):
            found = errors_of(doc, validator)
            if not found and args.kind and doc["kind"] != args.kind:
                found = ["kind is %s, not %s" % (doc["kind"], args.kind)]
            for e in found:
                print("%s: document %d: %s" % (name, i + 1, e))
            bad += bool(found)
            good += not found
    if args.summary:
        print("%d valid, %d not" % (good, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
