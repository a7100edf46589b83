// What an account's reader does with any client: the list, a record by its sections, a text.

export async function readAccount(client) {
  const { tools } = await client.listTools();
  const sizes = [], ids = [];
  let largest = 0;
  for await (const page of pages(client, "list_bookings", {})) {
    sizes.push(page.items.length);
    ids.push(...page.items.map((row) => row.id));
    largest = Math.max(largest, page.meta.estimatedTokens);
  }
  const preview = await call(client, "get_booking", { id: ids.at(3) });
  const more = preview.meta.detailsAvailable;
  const record = {};
  for (const fields of Object.keys(more.sections)) {
    const { meta, ...section } = await call(client, more.tool, { ...more.arguments, fields });
    Object.assign(record, section);
  }
  const { meta, ...whole } = await call(client, more.tool, more.arguments);
  let log = "";
  for await (const chunk of pages(client, "read_document", { id: "sync-2026-11.log" })) log += chunk.content;
  return {
    tools: tools.map((tool) => tool.name),
    sizes,
    distinct: new Set(ids).size,
    largest,
    sectionsAreTheWhole: JSON.stringify(sorted(record)) === JSON.stringify(sorted(whole)),
    logBytes: Buffer.byteLength(log),
  };
}

export async function call(client, name, args) {
  return document(await client.callTool({ name, arguments: args }));
}

export function document(result) {
  if (result.content.length !== 1 || result.structuredContent) throw new Error("an answer is one text block");
  return JSON.parse(result.content[0].text);
}

async function* pages(client, name, args) {
  for (let cursor; ; ) {
    const answer = await call(client, name, cursor ? { ...args, cursor } : args);
    yield answer;
    cursor = answer.nextCursor;
    if (!cursor) return;
  }
}

function sorted(object) {
  return Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
}
