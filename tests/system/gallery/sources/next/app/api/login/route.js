export async function POST(request) {
  const { user, password } = await request.json();
  if (password !== "secret") return Response.json({ reason: "wrong" }, { status: 403 });
  return Response.json({ user }, { headers: { "set-cookie": `user=${encodeURIComponent(user)}; Path=/; HttpOnly` } });
}
