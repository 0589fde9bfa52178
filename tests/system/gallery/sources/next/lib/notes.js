// Notes of this process; a copy of the program has its own.
import { cookies } from "next/headers";

globalThis.notes ??= [];

export const notes = globalThis.notes;

export async function user() {
  return (await cookies()).get("user")?.value;
}
