"""A statement that mixes amounts of several currencies is answered with a note that names them, any other without."""

from collections.abc import Iterator

import pytest

from context_protection.core.results.amounts import explained as explain
from context_protection.core.results.queries import QueryTable, RowsDatabase
from context_protection.core.results.tabulation import Column

BOOKINGS = [
    {"id": 1, "listing": 7, "total": 100, "open": 0, "currency": "EUR", "nights": 2},
    {"id": 2, "listing": 7, "total": 30000, "open": 500, "currency": "JPY", "nights": 3},
    {"id": 3, "listing": 8, "total": 250.5, "open": 20, "currency": "EUR", "nights": 1},
]
LISTINGS = [
    {"id": 7, "city": "Kyoto", "price": 9000, "code": "JPY"},
    {"id": 8, "city": "Lyon", "price": 80, "code": "EUR"},
]
EUROS = [{"id": 1, "sum": 5, "currency": "EUR"}]
DOLLARS = [{"id": 1, "sum": 6, "currency": "USD"}]
INVOICES = [
    {"id": 1, "grossAmount": 5, "currency_code": "EUR", "feeId": 3},
    {"id": 2, "grossAmount": 7, "currency_code": "CHF"},
]


def amounts(unit: str, *names: str) -> tuple[Column, ...]:
    return tuple(Column(name, name, "number", unit=unit) for name in names)


@pytest.fixture(scope="module")
def database() -> Iterator[RowsDatabase]:
    opened = RowsDatabase(
        {
            "b": QueryTable(BOOKINGS, amounts("currency", "total", "open")),
            "l": QueryTable(LISTINGS, amounts("code", "price")),
            "eur": QueryTable(EUROS, amounts("currency", "sum")),
            "usd": QueryTable(DOLLARS, amounts("currency", "sum")),
            "invoices": QueryTable(INVOICES),
        }
    )
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(total) FROM b",
        "SELECT listing, avg(b.total) AS average FROM b GROUP BY listing",
        "SELECT max(total) - min(total) FROM b",
        "SELECT median(x.total) FROM b AS x",
        "SELECT sum(TOTAL) FROM B",
        "SELECT sum(p) FROM (SELECT total AS p, currency FROM b)",
        "WITH x AS (SELECT listing, total * 2 AS p, currency AS c FROM b) SELECT listing, sum(p) FROM x GROUP BY 1",
        "SELECT city, sum(total) FROM b JOIN l ON listing = l.id GROUP BY city",
        "SELECT code, sum(total) FROM b JOIN l ON listing = l.id GROUP BY code",
        "SELECT sum(CASE WHEN nights > 1 THEN total ELSE 0 END) FROM b",
        "SELECT sum(total) OVER (PARTITION BY listing) FROM b",
        "SELECT id, total FROM b",
        "SELECT sum(total) FROM b GROUP BY currency, listing",
        "SELECT id, currency FROM b ORDER BY total DESC LIMIT 1",
        "SELECT currency, sum(total) AS revenue FROM b GROUP BY currency ORDER BY revenue",
        "SELECT currency, sum(total) FROM b GROUP BY currency ORDER BY 2 DESC",
        "SELECT id, rank() OVER (ORDER BY total) FROM b",
        "SELECT id FROM b WHERE total > 200",
        "SELECT id FROM b WHERE 200.5 <= total",
        "SELECT id FROM b WHERE total BETWEEN 1 AND 200",
        "SELECT count(*) FILTER (WHERE total > 200) FROM b",
        "SELECT sum(total) FROM b WHERE currency = 'EUR' OR currency = 'JPY'",
        "SELECT sum(total) FROM b WHERE currency <> 'EUR'",
        "SELECT sum(total) FROM b WHERE currency IN ('EUR', 'JPY')",
        "SELECT sum(total) FROM b WHERE currency = 'EUR' OR nights = 3",
        "SELECT sum(total) FROM b WHERE NOT currency = 'EUR' OR id = 1",
        "SELECT count(*) FILTER (WHERE currency = 'EUR'), sum(total) FROM b",
        "SELECT sum(CASE WHEN currency = 'EUR' THEN 1 ELSE 0 END), sum(total) FROM b",
        "SELECT (SELECT sum(total) FROM b WHERE currency = 'EUR') AS euros, (SELECT sum(total) FROM b) AS every",
        "SELECT sum(CASE WHEN currency = 'EUR' THEN 0 ELSE total END) FROM b",
        "SELECT currency = 'EUR' AS is_euro, sum(total) FROM b GROUP BY is_euro",
        "WITH x AS (SELECT id FROM b WHERE currency = 'EUR') SELECT sum(total) FROM b, x",
        "SELECT sum(p) FROM (SELECT total AS p FROM b WHERE currency = 'EUR' UNION SELECT total FROM b)",
        "SELECT (SELECT total FROM b WHERE b.listing = l.id LIMIT 1) FROM l",
        "WITH b AS (SELECT * FROM b) SELECT sum(total) FROM b",
        "WITH RECURSIVE r AS (SELECT total AS p FROM b UNION ALL SELECT p + 1 FROM r WHERE p < 0) SELECT sum(p) FROM r",
        "SELECT sum(total) FROM b LEFT JOIN l ON b.currency = 'EUR'",
        "SELECT currency, sum(total) FROM b GROUP BY currency UNION ALL SELECT 'all', sum(total) FROM b",
        "SELECT currency, sum(total) FROM b GROUP BY currency HAVING sum(total) > (SELECT avg(total) FROM b)",
        "SELECT currency, (SELECT sum(total) FROM b) FROM b GROUP BY currency",
        "SELECT currency, sum(total) OVER (PARTITION BY currency), sum(total) OVER () FROM b",
        "SELECT currency, sum(total) / sum(sum(total)) OVER () FROM b GROUP BY currency",
        "WITH x AS (SELECT total FROM b) SELECT sum(x.total) FROM x",
        "WITH x AS (SELECT total AS p FROM b) SELECT sum(y.p) FROM x AS y",
        "WITH b AS (SELECT total AS p FROM b) SELECT sum(b.p) FROM b",
    ],
)
def test_what_mixes_currencies_says_which(database: RowsDatabase, sql: str):
    (note,) = database.select(sql).notes
    assert "EUR, JPY" in note
    assert "total" in note
    assert "currency" in note


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), sum(nights) FROM b",
        "SELECT count(total) FROM b",
        "SELECT currency, sum(total) FROM b GROUP BY currency",
        "SELECT sum(total) AS revenue, currency FROM b GROUP BY ALL ORDER BY currency, revenue DESC",
        "SELECT listing, b.currency AS c, sum(total) FROM b GROUP BY 1, 2",
        "SELECT sum(total) FROM b WHERE currency = 'EUR'",
        "SELECT sum(total) FROM b WHERE currency IN ('EUR')",
        "SELECT max(total) FROM b WHERE 'EUR' = b.currency AND total > 5",
        "SELECT sum(CASE WHEN currency = 'EUR' THEN total END) AS euros FROM b",
        "SELECT id, total, currency FROM b",
        "SELECT * FROM b",
        "SELECT id FROM b WHERE open > 0",
        "SELECT sum(CASE WHEN open > 0 THEN 1 ELSE 0 END) FROM b",
        "SELECT currency, id, rank() OVER (PARTITION BY currency ORDER BY total) FROM b",
        "SELECT city, b.currency, sum(total) FROM b JOIN l ON listing = l.id GROUP BY ALL",
        "WITH x AS (SELECT total AS p, currency AS c FROM b) SELECT c, sum(p) FROM x GROUP BY c",
        "SELECT sum(sum) FROM eur",
        "SELECT sum(total) FILTER (WHERE currency = 'EUR' AND nights > 1) FROM b",
        "WITH x AS (SELECT * FROM b WHERE currency = 'EUR') SELECT listing, sum(total) FROM x GROUP BY 1",
        "WITH x AS (SELECT total AS p, currency AS c FROM b) SELECT sum(p) FROM x WHERE c = 'EUR' AND p > 5",
        "SELECT sum(p) FROM (SELECT total AS p FROM b WHERE currency = 'EUR')",
        "SELECT sum(total) FROM b JOIN l ON listing = l.id AND b.currency = 'EUR'",
        "SELECT (SELECT sum(total) FROM b WHERE currency = 'EUR') AS euros",
        "WITH b AS (SELECT * FROM b WHERE currency = 'EUR') SELECT sum(total) FROM b",
        "SELECT id FROM b WHERE currency = 'EUR' ORDER BY total DESC LIMIT 1",
        "WITH x AS (SELECT total AS p, currency AS c FROM b) SELECT x.c, sum(x.p) FROM x GROUP BY x.c",
        "WITH x AS (SELECT total AS p, currency AS c FROM b) SELECT sum(x.p) FROM x WHERE x.c = 'EUR'",
        "SELECT currency, total / sum(total) OVER (PARTITION BY currency) FROM b",
        "SELECT currency FROM b GROUP BY 1 HAVING sum(total) > 0",
        "SELECT o.currency, (SELECT sum(i.total) FROM b AS i WHERE i.currency = o.currency) FROM b AS o",
        "SELECT total FROM b WHERE currency = 'EUR' UNION ALL SELECT total FROM b WHERE currency = 'EUR' ORDER BY 1",
    ],
)
def test_what_keeps_currencies_apart_has_no_note(database: RowsDatabase, sql: str):
    assert database.select(sql).notes == ()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(sum) FROM (SELECT sum FROM eur UNION ALL SELECT sum FROM usd)",
        "SELECT sum(eur.sum + usd.sum) FROM eur JOIN usd USING (id)",
        "SELECT eur.sum + usd.sum AS both FROM eur JOIN usd USING (id)",
    ],
)
def test_results_of_one_currency_each_can_be_mixed_too(database: RowsDatabase, sql: str):
    (note,) = database.select(sql).notes
    assert "EUR, USD" in note


def test_amounts_of_an_undeclared_table_are_known_by_their_names_and_a_currency_beside_them(database: RowsDatabase):
    (note,) = database.select("SELECT sum(grossAmount) FROM invoices").notes
    assert "CHF, EUR" in note
    assert "currency_code" in note
    assert database.select("SELECT sum(feeId) FROM invoices").notes == ()


@pytest.mark.parametrize(
    ("sql", "units"),
    [
        ("SELECT currency, sum(total) AS revenue FROM b GROUP BY ALL", {"revenue": ("currency", ())}),
        ("SELECT total / nights AS a, b.currency AS c FROM b", {"a": ("c", ())}),
        ("SELECT sum(total) AS revenue FROM b", {"revenue": ("", ("EUR", "JPY"))}),
        ("SELECT sum(total) AS revenue FROM b WHERE currency = 'EUR'", {}),
        ("SELECT * FROM b", {"total": ("currency", ()), "open": ("currency", ())}),
        ("SELECT id, nights, count(*) AS n FROM b GROUP BY ALL", {}),
    ],
)
def test_the_result_knows_the_currencies_of_its_columns(database: RowsDatabase, sql: str, units: object):
    columns = database.select(sql).columns
    assert {each.name: (each.unit, each.units) for each in columns if each.unit or each.units} == units


@pytest.mark.parametrize("last", [10, 49])
def test_names_of_names_are_followed_for_a_while_and_then_all_that_is_mixed_is_noted(database: RowsDatabase, last: int):
    step = "t$1 AS (SELECT a$0 AS a$1 FROM t$0)"
    steps = [step.replace("$0", str(number)).replace("$1", str(number + 1)) for number in range(last)]
    every = ", ".join(["t0 AS (SELECT total AS a0 FROM b)", *steps])
    (note,) = database.select(
        "WITH $every SELECT sum(a$n) FROM t$n".replace("$every", every).replace("$n", str(last))
    ).notes
    assert "EUR, JPY" in note


def test_a_statement_too_deep_to_follow_is_answered_with_a_note(database: RowsDatabase):
    explained = explain("[" * 3000 + "]" * 3000, database.amounts, ["a", "b"])
    assert "EUR, JPY" in explained.notes[0]
    assert explained.units == [("", ())] * 2
