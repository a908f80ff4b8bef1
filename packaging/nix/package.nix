# The `timeplane` command for nixpkgs and for ../../flake.nix. It needs the Rust compiler of
# `rust-version` in Cargo.toml, or a newer one.
{
  lib,
  stdenv,
  rustPlatform,
  installShellFiles,
}:
let
  workspace = (lib.importTOML ../../Cargo.toml).workspace.package;
in
rustPlatform.buildRustPackage {
  pname = "timeplane";
  inherit (workspace) version;
  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "--package=timeplane-cli" ];

  # Tests need a browser, network namespaces and minutes. The command is tried instead.
  doCheck = false;
  doInstallCheck = true;
  installCheckPhase = ''
    cd "$(mktemp -d)"
    $out/bin/timeplane new
    $out/bin/timeplane run scenario.toml --quiet
  '';

  nativeBuildInputs = [ installShellFiles ];
  postInstall = lib.optionalString (stdenv.buildPlatform.canExecute stdenv.hostPlatform) ''
    $out/bin/timeplane man man1
    installManPage man1/*.1
    installShellCompletion --cmd timeplane \
      --bash <($out/bin/timeplane completion bash) \
      --fish <($out/bin/timeplane completion fish) \
      --zsh <($out/bin/timeplane completion zsh)
  '';

  meta = {
    description = "Packet-level simulator of data-center networks whose transmissions are planned in time";
    homepage = workspace.repository;
    changelog = "${workspace.repository}/blob/v${workspace.version}/CHANGELOG.md";
    license = with lib.licenses; [
      asl20
      mit
    ];
    mainProgram = "timeplane";
    platforms = lib.platforms.unix;
  };
}
