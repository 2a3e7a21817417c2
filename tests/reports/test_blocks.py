"""Blocks say what is there and refuse what cannot stand in a report."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from auditlib.reports.blocks import LONGEST_QUOTATION, Column, Quotation, Report, Table, quoted, table_of


def test_a_data_frame_becomes_a_table_with_its_numbers_to_the_right() -> None:
    frame = pd.DataFrame({"work": ["A", "B"], "auc": [0.5, np.nan], "texts": [3, 4], "known": [True, False]})
    table = table_of(frame, "All works.", units={"auc": "0 to 1"}, forms={"auc": ".2f"})
    assert [column.numeric for column in table.columns] == [False, True, True, False]
    assert table.columns[1] == Column("auc", "0 to 1", numeric=True, form=".2f")
    assert table.rows == (("A", 0.5, 3, True), ("B", None, 4, False))


def test_a_row_that_does_not_fit_its_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="2 cells under 1 columns"):
        Table((Column("work"),), (("A", 1),), "")


def test_a_long_passage_is_quoted_only_in_part_and_between_words() -> None:
    short = quoted("word " * 1000, "page 3")
    assert len(short.text) <= LONGEST_QUOTATION
    assert short.text.endswith("word …")
    assert quoted(" two\n words ", "page 3").text == "two words"


def test_a_passage_without_a_space_is_cut_all_the_same() -> None:
    assert len(quoted("x" * 1000, "page 3").text) == LONGEST_QUOTATION


def test_an_overlong_quotation_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="301 characters"):
        Quotation("x" * 301, "page 3")


def test_a_report_says_in_which_time_zone_it_was_made() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Report("title", "", (), datetime(2026, 1, 1), "0.1.0")
