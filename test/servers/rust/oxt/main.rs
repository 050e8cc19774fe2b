// The command line of ostree-ext, the library that bootc and rpm-ostree use for OS images in containers.
fn main() -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(ostree_ext::cli::run_from_iter(std::env::args_os()))
}
