export default function About() {
  return <h1 id="about">About notes: Grüße</h1>;
}
