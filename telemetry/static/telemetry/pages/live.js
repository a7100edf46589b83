/* Refreshes a page: fetches it again and swaps what is marked data-live, by id. Focus, scroll positions and open
   <details> stay. Old figures stay until the new ones are there. */
"use strict";
{
  const seconds = Number(document.body.dataset.refresh);
  const SLOW = 400; // ms until "Updating…" is said
  const said = document.getElementById("updating");
  let isBusy = false;

  const opened = (region) => [...region.querySelectorAll("details[open][id]")].map((each) => each.id);
  const scrolled = (region) => [...region.querySelectorAll(".scroll")].map((each) => [each.scrollLeft, each.scrollTop]);

  // What has the focus, by its id or by its place among the links and controls of its region.
  function focused(region) {
    const element = document.activeElement;
    if (!region.contains(element)) return null;
    return { id: element.id, place: [...region.querySelectorAll("a, button, input, select, summary, [tabindex]")].indexOf(element) };
  }

  function swap(region, next) {
    const [open, scroll, focus] = [opened(region), scrolled(region), focused(region)];
    if (region.isEqualNode(next)) return;
    region.replaceWith(next);
    open.forEach((id) => { const each = document.getElementById(id); if (each) each.open = true; });
    next.querySelectorAll(".scroll").forEach((each, n) => { if (scroll[n]) [each.scrollLeft, each.scrollTop] = scroll[n]; });
    if (!focus) return;
    const place = next.querySelectorAll("a, button, input, select, summary, [tabindex]")[focus.place];
    (document.getElementById(focus.id) || place)?.focus({ preventScroll: true });
  }

  async function refresh() {
    if (isBusy || document.hidden) return;
    isBusy = true;
    const slow = setTimeout(() => { said.textContent = "Updating…"; }, SLOW);
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`);
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      document.title = page.title;
      document.querySelectorAll("[data-live][id]").forEach((region) => {
        const next = page.getElementById(region.id);
        if (next) swap(region, document.adoptNode(next));
      });
      document.dispatchEvent(new Event("sluice:swapped"));
      said.textContent = "";
    } catch (error) {
      said.textContent = `Not updated: the server did not answer as expected (${error.message}). The figures are those from before.`;
    } finally {
      clearTimeout(slow);
      isBusy = false;
    }
  }

  document.addEventListener("sluice:refresh", refresh);
  if (seconds) setInterval(refresh, 1000 * seconds);
}
