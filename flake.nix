# `nix run github:timeplane/timeplane -- --help` builds and runs the command.
{
  description = "Packet-level simulator of data-center networks whose transmissions are planned in time";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forAll = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = forAll (system: rec {
        timeplane = nixpkgs.legacyPackages.${system}.callPackage ./packaging/nix/package.nix { };
        default = timeplane;
      });
    };
}
