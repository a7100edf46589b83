/* The sentence and the last seven days of a rule follow what is typed. The server writes both; this asks it. */
"use strict";
{
  const form = document.querySelector("[data-rule-form]");
  const PAUSE = 400; // ms after the last key
  let timer = 0;
  let asked = 0;

  async function show() {
    const mine = ++asked;
    const data = new FormData(form);
    data.set("do", "show");
    const answer = await fetch(location.href, { method: "POST", body: data, headers: { Accept: "text/html" } });
    if (mine !== asked || answer.redirected || answer.status !== 200) return; // typed on, or not valid yet
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    document.getElementById("rule-effect").replaceWith(document.adoptNode(page.getElementById("rule-effect")));
  }

  form?.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
}
