# Nix; packages/build writes it from packages/recipes/flake.nix.in.
{
  description = "Web server for files, proxying and applications: HTTP/1.1, HTTP/2, HTTP/3";

  inputs.nixpkgs.url = "nixpkgs";

  outputs =
    { self, nixpkgs }:
    let
      version = "1.2.3-rc.1";
      archives = {
        x86_64-linux = {
          url = "https://serow.example/releases/1.2.3-rc.1/serow-1.2.3-rc.1-linux-x86_64.tar.gz";
          hash = "sha256-WDBc3L5aX2sgBsok0vH1c7Sjfwhk8ftFW0uTMGdcBjs=";
        };
        aarch64-linux = {
          url = "https://serow.example/releases/1.2.3-rc.1/serow-1.2.3-rc.1-linux-aarch64.tar.gz";
          hash = "sha256-c9NzZY/cOBzL9fwPpCa30EIQF0ebdYXoWNnbmWP/pm8=";
        };
      };
    in
    {
      packages = builtins.mapAttrs (
        system: archive:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        rec {
          serow = pkgs.stdenvNoCC.mkDerivation {
            pname = "serow";
            inherit version;
            src = pkgs.fetchurl archive;
            nativeBuildInputs = [ pkgs.installShellFiles ];
            installPhase = ''
              runHook preInstall
              install -Dm755 serow $out/bin/serow
              installShellCompletion --bash completions/serow --zsh completions/_serow --fish completions/serow.fish
              installManPage man/man1/*.1 man/man5/*.5
              runHook postInstall
            '';
            # The binary is static and stripped.
            dontFixup = true;
            meta = {
              description = "Web server for files, proxying and applications: HTTP/1.1, HTTP/2, HTTP/3";
              homepage = "https://serow.example";
              license = [
                pkgs.lib.licenses.mit
                pkgs.lib.licenses.asl20
              ];
              mainProgram = "serow";
              platforms = builtins.attrNames archives;
              sourceProvenance = [ pkgs.lib.sourceTypes.binaryNativeCode ];
            };
          };
          default = serow;
        }
      ) archives;

      apps = builtins.mapAttrs (system: packages: {
        default = {
          type = "app";
          program = "${packages.serow}/bin/serow";
        };
      }) self.packages;
    };
}
