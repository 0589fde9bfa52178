import Link from "next/link";
import { notes, user } from "../lib/notes";
import Counter from "./counter";
import { keep, logIn } from "./actions";

export const dynamic = "force-dynamic";

export default async function Home({ searchParams }) {
  const { q = "" } = await searchParams;
  const name = await user();
  return (
    <main>
      <h1>Notes of {name || "nobody"}</h1>
      <form id="log-in" action={logIn}><input name="user" /><input name="password" type="password" /><button>Log in</button></form>
      <form id="keep" action={keep}><input name="title" /><input name="film" type="file" /><button>Keep</button></form>
      <ul id="notes">{notes.filter((note) => note.title.includes(q)).map((note) => <li key={note.id}>{note.title} {note.digest}</li>)}</ul>
      <Link href="/about">About</Link>
      <Counter />
    </main>
  );
}
