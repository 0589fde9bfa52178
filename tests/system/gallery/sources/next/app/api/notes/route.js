import { notes, user } from "../../../lib/notes";

export async function GET(request) {
  const words = request.nextUrl.searchParams.get("q") || "";
  return Response.json(notes.filter((note) => note.title.includes(words)));
}

export async function POST(request) {
  const author = await user();
  if (!author) return new Response("nobody", { status: 401 });
  const note = { id: notes.length + 1, author, version: 1, ...(await request.json()) };
  notes.push(note);
  return Response.json(note, { status: 201 });
}

// As the person read it: a newer version is a conflict.
export async function PUT(request) {
  const { id, version, title } = await request.json();
  const note = notes[id - 1];
  if (note.version !== version) return new Response("edited meanwhile", { status: 409 });
  Object.assign(note, { title, version: version + 1 });
  return Response.json(note);
}
