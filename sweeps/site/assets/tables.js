// Long tables: a box that filters the rows of all tables with the same first heads, and heads that sort.
const heads = (table) => [...table.tHead.rows[0].cells].slice(0, 2).map((cell) => cell.textContent).join();
const tables = [...document.querySelectorAll(".md-content table")].filter((table) => table.tHead && table.tBodies[0]);
const long = tables.filter((table) => table.tBodies[0].rows.length > 9);

function addFilter(first) {
  const rows = tables.filter((table) => heads(table) === heads(first)).flatMap((table) => [...table.tBodies[0].rows]);
  const label = document.createElement("label"), box = document.createElement("input"), count = document.createElement("output");
  label.className = "filter";
  box.type = "search";
  label.append("Filter rows: ", box, " ", count);
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(" ");
    for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    count.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length}`;
  });
  first.before(label);
}

function sortBy(table, column, head) {
  const falls = head.getAttribute("aria-sort") === "ascending";
  const value = (row) => {
    const text = row.cells[column].textContent.trim().replace("−", "-").replace(/,/g, "");
    return isNaN(parseFloat(text)) ? text : parseFloat(text);
  };
  const isMissing = (x) => x === "–" || x === "";
  const order = (x, y) => isMissing(x) || isMissing(y) ? isMissing(x) - isMissing(y) : (x < y ? -1 : x > y) * (falls ? -1 : 1);
  for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", falls ? "descending" : "ascending");
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => order(value(a), value(b))));
}

for (const table of tables) table.tabIndex = 0; // a wide one scrolls
for (const table of long) {
  if (long.find((other) => heads(other) === heads(table)) === table) addFilter(table);
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.addEventListener("click", () => sortBy(table, column, head));
    head.append(button);
  });
}
