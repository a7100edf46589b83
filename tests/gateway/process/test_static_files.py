"""Static files: whole, in part, or not again, with the headers of all pages."""

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db

STYLES = "/static/admin/css/base.css"


def test_a_file_comes_whole_with_the_headers_of_all_pages():
    response = Client().get(STYLES)
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/css")
    assert int(response["Content-Length"]) == len(response.content)
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_part_of_it_comes_alone():
    whole, part = Client().get(STYLES).content, Client().get(STYLES, headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, whole[10:20])


def test_a_file_that_the_browser_has_does_not_come_again():
    modified = Client().get(STYLES)["Last-Modified"]
    response = Client().get(STYLES, headers={"If-Modified-Since": modified})
    assert (response.status_code, response.content) == (304, b"")


def test_a_question_for_its_headers_opens_no_file():
    response = Client().head(STYLES)
    assert (response.status_code, response.content) == (200, b"")
    assert int(response["Content-Length"]) > 0


@pytest.mark.parametrize("path", ["/static/no-such-file.css", "/static/../manage.py", "/static/%2e%2e/manage.py"])
def test_what_is_no_static_file_is_not_found(path: str):
    assert Client().get(path).status_code == 404


def test_a_file_cannot_be_written():
    assert Client().post(STYLES).status_code == 405
