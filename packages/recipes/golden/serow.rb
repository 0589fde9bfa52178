# Homebrew's formula; packages/build writes it from packages/recipes/serow.rb.in.
class Serow < Formula
  desc "Web server for files, proxying and applications: HTTP/1.1, HTTP/2, HTTP/3"
  homepage "https://serow.example"
  version "1.2.3-rc.1"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on :linux

  on_intel do
    url "https://serow.example/releases/1.2.3-rc.1/serow-1.2.3-rc.1-linux-x86_64.tar.gz"
    sha256 "58305cdcbe5a5f6b2006ca24d2f1f573b4a37f0864f1fb455b4b9330675c063b"
  end

  on_arm do
    url "https://serow.example/releases/1.2.3-rc.1/serow-1.2.3-rc.1-linux-aarch64.tar.gz"
    sha256 "73d373658fdc381ccbf5fc0fa426b7d0421017479b7585e858d9db9963ffa66f"
  end

  def install
    bin.install "serow"
    bash_completion.install "completions/serow"
    zsh_completion.install "completions/_serow"
    fish_completion.install "completions/serow.fish"
    man1.install Dir["man/man1/*.1"]
    man5.install Dir["man/man5/*.5"]
    doc.install "README.md"
  end

  test do
    (testpath/"index.html").write "a page"
    port = free_port
    pid = spawn bin/"serow", testpath.to_s, "--listen", "127.0.0.1:#{port}"
    begin
      output = shell_output("curl --silent --retry 5 --retry-connrefused http://127.0.0.1:#{port}/")
      assert_equal "a page", output
    ensure
      Process.kill "TERM", pid
      Process.wait pid
    end
  end
end
