/* Opens a call beside the list that it is chosen from. The list hears of it by the event sluice:sheet. On a phone, and with
   Ctrl or the middle button, the link is a link. */
"use strict";
{
  const sheet = document.querySelector("[data-sheet]");
  const body = sheet.querySelector("[data-sheet-body]");
  const page = sheet.querySelector("[data-sheet-page]");
  const isWide = matchMedia("(min-width: 720px)");
  let from = null; // the link that opened it

  function close() {
    if (sheet.hidden) return;
    sheet.hidden = true;
    body.replaceChildren();
    mark(null);
    if (from?.isConnected) from.focus();
    from = null;
  }

  function mark(link) {
    document.querySelectorAll("tr[aria-current]").forEach((row) => row.removeAttribute("aria-current"));
    link?.closest("tr").setAttribute("aria-current", "true");
  }

  function say(words) {
    const line = document.createElement("p");
    line.className = "empty";
    line.textContent = words;
    body.replaceChildren(line);
  }

  // The page of the call without its frame; its ids are those of a page that is not this one.
  function show(html) {
    const main = new DOMParser().parseFromString(html, "text/html").getElementById("main");
    main.querySelectorAll("#head, #updating, #notes").forEach((each) => each.removeAttribute("id"));
    const title = main.querySelector("h1");
    const heading = document.createElement("h2");
    heading.textContent = title.textContent;
    heading.className = "sheet-title";
    title.replaceWith(heading);
    main.querySelectorAll("section h2").forEach((each) => {
      const smaller = document.createElement("h3");
      smaller.id = each.id;
      smaller.append(...each.childNodes);
      each.replaceWith(smaller);
    });
    body.replaceChildren(...main.children);
    document.dispatchEvent(new Event("sluice:swapped"));
  }

  async function open(link) {
    from = link;
    mark(link);
    page.href = link.href;
    sheet.hidden = false;
    say("Loading the call…");
    sheet.querySelector("[data-sheet-close]").focus({ preventScroll: true });
    document.dispatchEvent(new Event("sluice:sheet"));
    try {
      const answer = await fetch(link.href, { headers: { Accept: "text/html" } });
      if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`);
      const html = await answer.text();
      if (from === link) show(html);
    } catch (error) {
      if (from === link) say(`The call cannot be shown here (${error.message}). “Open as a page” may say more.`);
    }
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-opens-sheet] tbody th a");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || !isWide.matches) return;
    event.preventDefault();
    open(link);
  });
  sheet.querySelector("[data-sheet-close]").addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !document.querySelector("details.popover[open]")) close();
  });
}
