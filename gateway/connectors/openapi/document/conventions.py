"""Conventional names of paging parameters and of the parts of list responses, in lower case. Response names have no
underscores or hyphens, and use dots for nesting. Earlier names take precedence."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# -- Parameters -------------------------------------------------------------------------------------

SIZES = _names(
    "limit per_page perpage page_size pagesize page[size] page[limit] results_per_page items_per_page itemsperpage "
    "maxresults max_results $top top take hitsperpage pagelen num_results max_items maxitems max-results max-keys "
    "page-size per-page page_limit pagelimit max first size count rows n"
)
OFFSETS = _names("offset skip $skip startat start_at startindex start_index page[offset] first_result start from")
PAGES = _names(
    "page pagenumber page_number page[number] pageno page_no pagenum page_num pageindex page_index page-number "
    "currentpage current_page page_id p"
)
CURSORS = _names(
    "cursor page_token pagetoken next_token nexttoken next_cursor nextcursor page[cursor] page_cursor pagecursor "
    "start_cursor startcursor continuation_token continuationtoken continuation-token continue pagination_token "
    "paginationtoken next_page_token nextpagetoken page[after] after scroll_id scrollid bookmark marker next "
    "exclusivestartkey page-token "
    "stream_position"
)
AFTER = _names("after page[after]")
BEFORE = _names("before page[before]")
LAST_IDS = _names("starting_after startingafter after_id afterid last_id lastid since_id sinceid from_id fromid")
BACKWARDS = {
    "starting_after": "ending_before",
    "startingAfter": "endingBefore",
    "after": "before",
    "page[after]": "page[before]",
    "after_id": "before_id",
    "afterId": "beforeId",
}

# -- Responses --------------------------------------------------------------------------------------

ROWS = _names(
    "data items results result value values records rows entries elements content list objects resources collection "
    "hits edges nodes docs _embedded member hydra:member"
)
AROUND_ROWS = frozenset(_names("data result response payload body _embedded d results hits"))
MAY_BE_AROUND_ROWS = frozenset(_names("meta metadata"))  # considered only if AROUND_ROWS leads to no rows
# Words in the names of fields that accompany the rows: counts, links to the next page, status.
BESIDE_ROWS = frozenset(
    _names(
        "count total totals size limit offset skip page pages per paging pagination cursor cursors next previous prev "
        "first last more has meta metadata links link self number status code ok success message object url uri kind "
        "api version etag request id errors error warnings response headers end start token index empty sort pageable "
        "href schemas context type timestamp time query took timed out complete incomplete truncated elements results "
        "items response info expand marker bookmark continuation iterator"
    )
)
# The words of BESIDE_ROWS that occur only in lists.
COUNTING = frozenset(
    _names(
        "count total totals limit offset skip page pages paging pagination cursor cursors next previous prev more meta"
    )
)
NEXT_CURSORS = _names(
    "nextpage.offset next.offset nextoffset nextcursor nextpagetoken nexttoken nextpagecursor continuationtoken "
    "nextcontinuationtoken paginationtoken nextstreamposition endcursor cursors.after scrollid bookmark nextmarker "
    "marker metadata.continue nextpagekey nextbookmark nextstartkey lastevaluatedkey cursor.next paging.next.after "
    "paging.next pagination.next meta.next page.next next nextpage cursor after"
)
NEXT_URLS = _names(
    "@odata.nextlink odata.nextlink nextlink links.next.href links.next links.pages.next pages.next "
    "nextpageuri nextpageurl nexturl nexturi nexthref paging.next pagination.next meta.next next.href next"
)
IDS_OF_LAST = _names("lastid")
ID = "id"  # the name of a row's id
# The names in NEXT_CURSORS and NEXT_URLS that are set only if a page follows. The others may repeat the position of
# this page.
SURELY_NEXT = _names(
    "nextpage.offset next.offset nextoffset nextcursor nextpagetoken nexttoken nextpagecursor nextcontinuationtoken "
    "continuationtoken nextmarker nextpagekey nextbookmark nextstartkey metadata.continue cursor.next "
    "paging.next.after @odata.nextlink odata.nextlink nextlink links.next.href links.next links.pages.next pages.next "
    "nextpageuri nextpageurl nexturl nexturi nexthref paging.next pagination.next meta.next page.next next nextpage"
)
HAS_MORE = _names("hasmore hasnextpage hasnext more hasmoreitems hasmoreresults ismore morepages hasadditional")
NEXT_FLAGS = _names("nextpage next")  # names of boolean fields: whether there is a next page
TOTALS = _names(
    "total totalcount totalresults totalitems totalelements totalrecords totalsize recordcount totalentries "
    "total.value totalhits resultcount totalrows numfound totalnumber @odata.count count"
)
TOTAL_HEADERS = _names("x-total-count x-total total-count x-pagination-total-count x-count")
