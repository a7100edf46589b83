/* The effect follows what is typed. The server computes it and saves nothing; this asks it. */
"use strict";
{
  const form = document.querySelector("[data-budget-form]");
  const PAUSE = 300; // ms after the last key
  const SHOWN = ["effect", "real"];
  let timer = 0;
  let asked = 0;

  async function show() {
    const mine = ++asked;
    const data = new FormData(form);
    data.set("do", "show");
    const answer = await fetch(form.action, { method: "POST", body: data, headers: { Accept: "text/html" } });
    if (mine !== asked || answer.redirected || answer.status !== 200) return; // typed on, or not valid yet
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const id of SHOWN) {
      const [old, made] = [document.getElementById(id), page.getElementById(id)];
      if (old && made) old.replaceWith(document.adoptNode(made));
    }
  }

  form?.addEventListener("input", (event) => {
    if (event.target.name === "change_reason") return;
    clearTimeout(timer);
    timer = setTimeout(show, PAUSE);
  });
}
