/* The effect follows what is ticked: the server computes it and saves nothing. A filter and an order of the list keep the
   draft. */
"use strict";
{
  const form = document.querySelector("[data-draft-form]");
  const PAUSE = 300; // ms after the last tick
  const SHOWN = ["draft-gauge", "draft-effect", "draft-count"];
  let timer = 0;
  let asked = 0;

  async function show() {
    const mine = ++asked;
    const answer = await fetch(form.action, { method: "POST", body: new FormData(form), headers: { Accept: "text/html" } });
    if (mine !== asked || answer.redirected || answer.status !== 200) return; // ticked on, or logged out
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of SHOWN) document.getElementById(id)?.replaceChildren(...page.getElementById(id).childNodes);
  }

  // Whether something is ticked otherwise than it is in force, here or in rows that the filter hides.
  function isChanged() {
    const ticks = [...form.querySelectorAll("[data-tick]")];
    const hidden = form.querySelectorAll("input[type=hidden][name=row]").length - ticks.length;
    return hidden > 0 || ticks.some((box) => box.checked !== "wasOn" in box.dataset);
  }

  function goWithDraft(event, address) {
    if (!isChanged()) return;
    event.preventDefault();
    form.action = address;
    form.submit();
  }

  form.addEventListener("change", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
  for (const link of form.querySelectorAll("thead a")) link.addEventListener("click", (event) => goWithDraft(event, link.href));
  for (const each of document.querySelectorAll("[data-keeps-draft]")) {
    if (each.tagName === "A") each.addEventListener("click", (event) => goWithDraft(event, each.href));
    else each.addEventListener("submit", (event) => goWithDraft(event, `${each.action}?${new URLSearchParams(new FormData(each))}`));
  }
}
