from __future__ import annotations

import pytest

from tidemark.schema.type_text import SourceType, parse_type
from tidemark.schema.type_widening import holds_every_value, is_known


def read(text: str) -> SourceType:
    known = parse_type(text)
    assert known is not None
    return known


def holds(old: str, new: str, *, numbered: bool = True, sizes: bool = True) -> bool:
    return holds_every_value(read(new), read(old), is_numbered=numbered, tells_sizes=sizes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int", "int"),
        ("int(11)", "int"),
        ("tinyint(1)", "tinyint(4)"),
        ("int", "bigint"),
        ("smallint", "mediumint"),
        ("int unsigned", "bigint unsigned"),
        ("int unsigned", "bigint"),
        ("smallint unsigned", "int"),
        ("decimal(8,3)", "decimal(10,3)"),
        ("decimal(8,3) unsigned", "decimal(8,3)"),
        ("numeric(8)", "decimal(9,0)"),
        ("float", "double"),
        ("float(7,4)", "double"),
        ("float unsigned", "float"),
        ("varchar(10)", "varchar(20)"),
        ("char(10)", "char(20)"),
        ("char", "varchar(1)"),
        ("varchar(63)", "tinytext"),
        ("varchar(100)", "text"),
        ("tinytext", "varchar(255)"),
        ("text", "longtext"),
        ("varbinary(10)", "varbinary(20)"),
        ("varbinary(255)", "tinyblob"),
        ("blob", "mediumblob"),
        ("binary(4)", "binary(4)"),
        ("datetime", "datetime(6)"),
        ("time(3)", "time(3)"),
        ("timestamp(3)", "timestamp(6)"),
        ("enum('a','b')", "enum('a','b','c')"),
        ("set('a')", "set('a','b')"),
        ("bit(8)", "bit(8)"),
        ("bit(2)", "bit(8)"),
        ("bit(9)", "bit(17)"),
        ("json", "json"),
        ("year", "year"),
        ("year", "year(4)"),
        ("bit(1)", "bit"),
        ("int", "decimal(10,0)"),
        ("smallint", "decimal(7,2)"),
        ("int unsigned", "decimal(10,0) unsigned"),
        ("bigint", "decimal(19,0)"),
        ("decimal(10,3)", "decimal(12,4)"),
        ("int", "double"),
        ("int", "varchar(11)"),
        ("bigint", "text"),
        ("decimal(10,3)", "varchar(13)"),
        ("date", "datetime"),
        ("date", "char(10)"),
    ],
)
def test_nothing_can_have_changed(old: str, new: str) -> None:
    """SCHEMA-13."""
    assert holds(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("bigint", "int"),
        ("int", "int unsigned"),
        ("int", "bigint unsigned"),
        ("int unsigned", "int"),
        ("int", "varchar(10)"),
        ("int unsigned", "varchar(20)"),
        ("varchar(20)", "int"),
        ("int", "decimal(9,0)"),
        ("int", "decimal(10,0) unsigned"),
        ("int", "decimal(10,1)"),
        ("int", "float"),
        ("int", "double unsigned"),
        ("int", "double(9,2)"),
        ("bigint", "double"),
        ("int", "year"),
        ("decimal(10,3)", "decimal(8,3)"),
        ("decimal(10,3)", "decimal(10,4)"),
        ("decimal(10,3)", "decimal(12,2)"),
        ("decimal(10,3)", "varchar(12)"),
        ("decimal", "varchar(99)"),
        ("date", "timestamp"),
        ("date", "varchar(9)"),
        ("year", "text"),
        ("decimal(10,3)", "decimal(12,3) unsigned"),
        ("double", "float"),
        ("float", "float(7,4)"),
        ("double", "double unsigned"),
        ("varchar(20)", "varchar(10)"),
        ("varchar(10)", "char(10)"),
        ("varchar(64)", "tinytext"),
        ("text", "varchar(20)"),
        ("text", "blob"),
        ("text", "json"),
        ("json", "text"),
        ("varbinary(20)", "varbinary(10)"),
        ("binary(4)", "binary(8)"),
        ("binary(4)", "varbinary(4)"),
        ("datetime(6)", "datetime"),
        ("datetime", "timestamp"),
        ("datetime", "date"),
        ("enum('a','b')", "enum('b','a')"),
        ("enum('a','b')", "enum('a')"),
        ("enum('a')", "set('a')"),
        ("enum", "enum('a')"),
        ("enum('a')", "varchar(9)"),
        ("bit(8)", "bit(7)"),
        ("bit(1)", "tinyint"),
    ],
)
def test_what_the_source_may_have_rewritten(old: str, new: str) -> None:
    """SCHEMA-16, SCHEMA-17."""
    assert not holds(old, new)


def test_labels_that_records_write_out_may_change_their_order() -> None:
    """SCHEMA-17: only their numbers would mean something else."""
    assert holds("enum('a','b')", "enum('b','x','a')", numbered=False)
    assert not holds("enum('a','b')", "enum('b')", numbered=False)
    assert not holds("enum('a')", "set('a')", numbered=False)
    assert holds("enum", "enum('a')", numbered=False)


def test_the_text_of_a_set_has_its_labels_in_their_order() -> None:
    """SCHEMA-16: the source writes it anew in another one."""
    assert holds("set('a','b')", "set('x','a','y','b','z')", numbered=False)
    assert not holds("set('a','b')", "set('b','a')", numbered=False)
    assert not holds("set('a','b','c')", "set('a','c','b','d')", numbered=False)
    assert not holds("set('a','b')", "set('a')", numbered=False)
    assert not holds("set", "set('a','b')", numbered=False)


def test_labels_that_records_write_out_may_become_texts() -> None:
    """SCHEMA-13: as long as the longest, of a SET as all of them."""
    assert holds("enum('a','bcd')", "varchar(3)", numbered=False)
    assert not holds("enum('a','bcd')", "varchar(2)", numbered=False)
    assert holds("set('a','bcd')", "varchar(5)", numbered=False)
    assert not holds("set('a','bcd')", "varchar(4)", numbered=False)
    assert not holds("enum", "text", numbered=False)


def test_sizes_that_nothing_tells() -> None:
    """TYPE-31: of lost digits the source says nothing, while it refuses to cut a text."""
    assert holds("varchar", "varchar(20)", sizes=False)
    assert holds("varbinary", "blob", sizes=False)
    assert holds("decimal", "decimal(12,2)", sizes=False)
    assert holds("datetime", "datetime(6)", sizes=False)
    assert not holds("datetime", "datetime(3)", sizes=False)
    assert not holds("decimal(8,2)", "decimal", sizes=False)


def test_what_a_record_schema_names_is_no_type_of_the_source() -> None:
    assert is_known(read("varchar(3)"))
    assert not is_known(read("int32"))
