"use strict";

// Tabs: the ways to connect stand below each other without this; with it, one at a time.
// Keys as in the ARIA pattern: arrows, Home and End move, Tab leaves.
{
  const ways = [...document.querySelectorAll(".way")];
  const list = document.querySelector(".tabs");
  const tabs = ways.map((way) => {
    const tab = document.createElement("button");
    tab.type = "button";
    tab.role = "tab";
    tab.id = `tab-${way.id}`;
    tab.textContent = way.querySelector("h3").textContent;
    tab.setAttribute("aria-controls", way.id);
    way.role = "tabpanel";
    way.setAttribute("aria-labelledby", tab.id);
    return tab;
  });

  const select = (chosen) => {
    ways.forEach((way, n) => {
      way.hidden = n !== chosen;
      tabs[n].setAttribute("aria-selected", String(n === chosen));
      tabs[n].tabIndex = n === chosen ? 0 : -1;
    });
  };

  tabs.forEach((tab, n) => tab.addEventListener("click", () => select(n)));
  list.addEventListener("keydown", (event) => {
    const now = tabs.indexOf(event.target);
    const count = tabs.length;
    const moves = { ArrowRight: (now + 1) % count, ArrowLeft: (now + count - 1) % count, Home: 0, End: count - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    event.preventDefault();
    select(to);
    tabs[to].focus();
  });
  list.append(...tabs);
  list.hidden = false;
  select(0);
}

// Copy buttons. The clipboard is there on https and on localhost only; elsewhere the text is selected instead.
{
  const said = document.getElementById("copied");
  const SHOWN_FOR = 2500; // ms

  const selectText = (element) => getSelection().selectAllChildren(element);

  document.querySelectorAll(".snippet").forEach((snippet) => {
    const button = snippet.querySelector("button");
    const text = snippet.querySelector("code");
    let back;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        selectText(text);
        said.textContent = "Selected. Copy it with Ctrl+C or ⌘C.";
        button.textContent = "Selected";
        return;
      }
      clearTimeout(back);
      said.textContent = ""; // so that a second copy is announced as well
      requestAnimationFrame(() => (said.textContent = "Copied to the clipboard."));
      button.textContent = "Copied";
      button.classList.add("done");
      back = setTimeout(() => {
        button.textContent = "Copy";
        button.classList.remove("done");
      }, SHOWN_FOR);
    });
  });
}
