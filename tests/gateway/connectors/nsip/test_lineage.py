"""A pedigree's HTML as data: the client's reading, and what it leaves unread."""

from nsip_client.models import Lineage

from gateway.connectors.nsip.lineage import facts, generation_sizes, pedigree
from tests.simulators.nsip import NsipSimulator
from tests.simulators.nsip_sheep import Sheep

RAM = Sheep(640, 7331)


def lineage_of(nsip: NsipSimulator, sheep: Sheep = RAM) -> Lineage:
    return Lineage.from_api_response(nsip.lineage({"lpnId": sheep.lpn}, None))


def test_it_is_the_clients_own_dict_where_the_client_reads_everything():
    lineage = lineage_of(NsipSimulator())
    assert pedigree(lineage) == lineage.to_dict()
    assert generation_sizes(lineage.generations) == {"1": 2, "2": 4, "3": 8, "4": 16, "5": 32}


def test_what_the_client_leaves_unread_stands_beside_what_it_reads():
    sire = RAM.parent(1)
    nsip = NsipSimulator(divs={sire.lpn: "<div>Coat:  Smooth &amp; short</div><div class='x'>Twin</div>"})
    value = pedigree(lineage_of(nsip))
    assert value["sire"]["other"] == {"Coat": "Smooth & short", "Twin": ""}
    assert value["generations"][0][0]["other"] == value["sire"]["other"]
    assert "other" not in value["dam"]
    assert value["sire"]["status"] == sire.status


def test_a_line_that_the_clients_pattern_misses_is_not_lost():
    root = {"lpnId": "64014", "content": "<div>Farm</div><div>US Hair Index: -1.25</div><div>DOB: 1/2/2020</div>"}
    value = pedigree(Lineage.from_api_response(root))
    assert value["subject"]["us_index"] is None
    assert value["subject"]["other"] == {"US Hair Index": "-1.25"}


def test_a_farm_with_an_ampersand_is_no_second_farm():
    value = pedigree(Lineage.from_api_response({"lpnId": "64014", "content": "<div>Smith &amp; Sons</div>"}))
    assert "other" not in value["subject"]


def test_every_line_of_the_html_is_a_fact_whatever_its_tags():
    content = "<p>Farm</p><div><b>US</b> Index: <i>1.5</i></div>Loose<br/>Time: 10:30<div> </div>"
    assert facts(content) == {"Farm": "", "US Index": "1.5", "Loose": "", "Time": "10:30"}


def test_an_animal_without_html_or_parents_has_a_pedigree():
    value = pedigree(Lineage.from_api_response({"lpnId": "64014"}))
    assert value["subject"]["lpn_id"] == "64014"
    assert value["generations"] == []
