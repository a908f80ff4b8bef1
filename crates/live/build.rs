//! Compiles the BPF programs in `bpf/`, and makes a Rust module of each.

use libbpf_cargo::SkeletonBuilder;
use std::path::{Path, PathBuf};

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    // libbpf's own headers, as its library is compiled in; those of the kernel's interface are the system's.
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
                panic!("{}: {e:#}\n(needs clang: `bash install.sh` installs what is needed)", source.display())
            });
    }
}

/// Where Debian and its like keep `asm/types.h`, which clang looks for in vain when it compiles for BPF.
fn multiarch() -> Option<String> {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").ok()?;
    let dir = format!("/usr/include/{arch}-linux-gnu");
    Path::new(&dir).is_dir().then_some(dir)
}
