//! Compiles the BPF programs of a crate's folder `bpf/`, and makes a Rust module of each. It is
//! part of the build scripts of `live` and `lab`.

use libbpf_cargo::SkeletonBuilder;
use std::path::{Path, PathBuf};

/// Compiles every `*.bpf.c` in `bpf/`.
pub fn compile() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    // libbpf's own headers, as its library is compiled in. The kernel's interface is the system's.
    let headers = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys names its headers");
    println!("cargo:rerun-if-changed=bpf");
    let sources = std::fs::read_dir("bpf").expect("the folder of BPF programs");
    let mut sources: Vec<PathBuf> = sources.map(|entry| entry.expect("a readable folder").path()).collect();
    sources.sort();
    for source in sources.iter().filter(|p| p.to_string_lossy().ends_with(".bpf.c")) {
        let name = source.file_name().unwrap_or_default().to_string_lossy().replace(".bpf.c", ".skel.rs");
        let multiarch = multiarch().into_iter().flat_map(|dir| ["-I".to_owned(), dir]);
        let arguments = ["-I".to_owned(), headers.clone(), "-Wall".to_owned(), "-Werror".to_owned()];
        SkeletonBuilder::new()
            .source(source)
            .obj(out.join(name.replace(".skel.rs", ".o")))
            .clang_args(arguments.into_iter().chain(multiarch))
            .build_and_generate(out.join(&name))
            .unwrap_or_else(|e| {
                panic!("{}: {e:#}\n(clang is needed: `bash install.sh` installs it)", source.display())
            });
    }
}

/// Where Debian keeps `asm/types.h`; clang does not look there when it compiles for BPF.
fn multiarch() -> Option<String> {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let dir = format!("/usr/include/{arch}-linux-gnu");
    Path::new(&dir).is_dir().then_some(dir)
}
