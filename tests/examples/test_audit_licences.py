from email.message import Message

import pytest
from dependency_audit.licences import permits, read_licence, short_name
from hypothesis import given
from hypothesis import strategies as st

MIT_TEXT = """Copyright (c) 2020 Somebody

        Permission is hereby granted, free of charge, to any person obtaining a copy of this software"""
BSD_TEXT = """Copyright 2020. All rights reserved.
    Redistribution and use in source and binary forms, with or without modification, are permitted
    provided that the following conditions are met. {clause} the copyright holder may be used."""
APACHE_TEXT = """ Apache License
    Version 2.0, January 2004
    http://www.apache.org/licenses/  TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION"""
BUNDLED = f"{BSD_TEXT.format(clause='Neither the name of')} Bundled: GNU General Public License version 3"


def headers(*fields: tuple[str, str]) -> Message:
    message = Message()
    for name, value in fields:
        message[name] = value
    return message


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("MIT", "MIT"),
        ("MIT License", "MIT"),
        ("The MIT License (MIT)", "MIT"),
        ("Apache 2.0", "Apache-2.0"),
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("Apache Software License", "Apache"),
        ("BSD", "BSD"),
        ("BSD 3-Clause License", "BSD-3-Clause"),
        ("3-Clause BSD License", "BSD-3-Clause"),
        ("New BSD", "BSD-3-Clause"),
        ("Simplified BSD", "BSD-2-Clause"),
        ("PSF", "PSF-2.0"),
        ("GPLv3+", "GPL-3.0"),
        ("GPL v2 or later", "GPL-2.0"),
        ("GPL-3.0-or-later", "GPL-3.0-or-later"),
        ("GNU Lesser General Public License v2.1", "LGPL-2.1"),
        ("GNU Affero General Public License v3", "AGPL-3.0"),
        ("MPL 2.0", "MPL-2.0"),
        ("MIT or Apache License 2.0", "MIT OR Apache-2.0"),
        ("BSD-3-Clause AND (MIT OR 0BSD)", "BSD-3-Clause AND (MIT OR 0BSD)"),
        (MIT_TEXT, "MIT"),
        (BSD_TEXT.format(clause="Neither the name of"), "BSD-3-Clause"),
        (BSD_TEXT.format(clause="The name of"), "BSD-2-Clause"),
        (APACHE_TEXT, "Apache-2.0"),
        (BUNDLED, "BSD-3-Clause"),
        ("GNU GENERAL PUBLIC LICENSE\n Version 3, 29 June 2007\n Copyright (C) 2007 " + "x" * 80, "GPL-3.0"),
        ("See the file", None),
        ("A text of nobody's making. " * 10, None),
        ("", None),
    ],
)
def test_what_people_write_is_reduced_to_a_short_name(text: str, name: str | None) -> None:
    assert short_name(text) == name


CLASSIFIER = "License :: OSI Approved :: "


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ([("License-Expression", "MIT OR 0BSD"), ("License", "GPL")], "MIT OR 0BSD"),
        ([("License-Expression", "MIT AND " * 200 + "MIT"), ("License", "MIT")], None),
        ([("License", "BSD"), ("Classifier", f"{CLASSIFIER}MIT License")], "BSD"),
        ([("License", "UNKNOWN"), ("Classifier", f"{CLASSIFIER}MIT License")], "MIT"),
        ([("License", "Dual License"), ("Classifier", f"{CLASSIFIER}MIT License")], "MIT"),
        ([("License", "Dual License")], "Dual License"),
        ([("License", "A text of nobody's making. " * 10)], None),
        ([("Classifier", CLASSIFIER + name) for name in ("MIT License", "BSD License")], "BSD AND MIT"),
        (
            [("Classifier", f"{CLASSIFIER}GNU General Public License v3 or later (GPLv3+)")],
            "GPL-3.0",
        ),
        ([("Classifier", f"{CLASSIFIER}Nokia Open Source License (NOKOS)")], "Nokia-Open-Source-License-NOKOS"),
        ([("Classifier", "License :: OSI Approved"), ("Classifier", "License")], None),
        ([("Classifier", "Programming Language :: Python")], None),
        ([], None),
    ],
)
def test_the_most_telling_field_names_the_licence(fields: list[tuple[str, str]], licence: str | None) -> None:
    assert read_licence(headers(*fields)) == licence


@pytest.mark.parametrize(
    ("expression", "permitted"),
    [
        ("MIT", True),
        ("GPL", False),
        ("GPL OR MIT", True),
        ("GPL or MIT", True),
        ("GPL AND MIT", False),
        ("GPL OR MIT AND GPL", False),
        ("(GPL OR MIT) AND MIT", True),
        ("(GPL OR MIT) AND (GPL)", False),
        ("GPL WITH MIT OR GPL", False),
        ("((MIT))", True),
        ("ORDER-MIT OR ANDES-1.0 OR MIT", True),
        ("ORDER-MIT AND MIT", False),
        ("MIT and some words", False),
        ("(MIT", False),
        ("", False),
    ],
)
def test_an_expression_is_met_by_acceptable_licences_only(expression: str, permitted: bool) -> None:  # noqa: FBT001
    assert permits(expression, lambda name: name == "MIT") is permitted


LICENCES = st.sampled_from(["A", "B-1.0", "C WITH X", "ORB", "ANDROID-2"])
EXPRESSIONS = st.recursive(
    LICENCES.map(lambda name: (name, frozenset([frozenset([name])]))),
    lambda inner: st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(
        lambda parts: (
            f"({parts[0][0]}) {parts[1]} ({parts[2][0]})",
            parts[0][1] | parts[2][1]
            if parts[1] == "OR"
            else frozenset(left | right for left in parts[0][1] for right in parts[2][1]),
        )
    ),
    max_leaves=6,
)


@given(EXPRESSIONS, st.sets(LICENCES))
def test_an_expression_is_met_when_one_of_its_choices_is_wholly_acceptable(
    expression: tuple[str, frozenset[frozenset[str]]], accepted: set[str]
) -> None:
    text, choices = expression
    assert permits(text, accepted.__contains__) is any(choice <= accepted for choice in choices)
