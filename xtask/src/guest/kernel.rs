//! The guest's kernel: Debian's newest cloud kernel, downloaded by apt (which checks its signature and checksum), unpacked
//! into `$XDG_CACHE_HOME/homenode/kernel` and never installed. Once there, it is used without a network.
use anyhow::{Context, bail, ensure};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What must be built in, because the guest loads no modules.
const BUILT_IN: &[&str] = &["VIRTIO_PCI", "VIRTIO_CONSOLE", "NUMA", "MIGRATION", "DEVTMPFS"];
/// Kept from the package besides the image: the file that says what is built in.
const CONFIG: &str = "config-";
const IMAGE: &str = "vmlinuz-";

/// Path of the kernel image: `chosen` if given, else the newest in the cache, else the newest that apt knows.
///
/// # Errors
/// Says what to install or to update.
pub(crate) fn image(chosen: Option<&Path>) -> anyhow::Result<PathBuf> {
    if let Some(path) = chosen {
        ensure!(path.is_file(), "--kernel {}: no such file", path.display());
        return Ok(path.to_owned());
    }
    let cache = cache()?;
    std::fs::create_dir_all(&cache).with_context(|| format!("creating {}", cache.display()))?;
    let kept = std::fs::read_dir(&cache)?.flatten().map(|e| e.file_name().to_string_lossy().into_owned());
    match newest(kept.filter(|n| is_kernel(n))) {
        Some(package) => file_beginning(&cache.join(package), IMAGE),
        None => fetch(&cache),
    }
}

fn cache() -> anyhow::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|h| h.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("homenode").join("kernel"))
}

/// Package names of real kernels, not of the packages that only name the newest one.
fn is_kernel(package: &str) -> bool {
    let version = package.strip_prefix("linux-image-").and_then(|p| p.strip_suffix("-cloud-amd64"));
    version.is_some_and(|v| version_key(v).len() > 2)
}

/// The numbers in a version, so that 6.12.101 comes after 6.12.99 and 6.12 after 6.1.
fn version_key(version: &str) -> Vec<u64> {
    version.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn newest(packages: impl Iterator<Item = String>) -> Option<String> {
    packages.max_by_key(|p| version_key(p))
}

/// Downloads the newest kernel package and keeps its image.
fn fetch(cache: &Path) -> anyhow::Result<PathBuf> {
    let known = Command::new("apt-cache").args(["search", "--names-only", "^linux-image-.*-cloud-amd64$"]).output();
    let known = known.context("kernels are fetched by apt, which is not here: give --kernel VMLINUZ")?;
    let listed = String::from_utf8_lossy(&known.stdout).into_owned();
    let names = listed.lines().filter_map(|l| l.split(' ').next()).map(str::to_owned).filter(|n| is_kernel(n));
    let package = newest(names).context(
        "apt knows no linux-image-*-cloud-amd64 package: run `apt-get update` as root (or give --kernel VMLINUZ)",
    )?;
    eprintln!("guest: fetching {package} into {} (once)", cache.display());
    let folder = tempfile::Builder::new().prefix(".fetch").tempdir_in(cache)?;
    let mut download = Command::new("apt-get");
    if std::fs::metadata("/proc/self")?.uid() == 0 {
        // apt's own user cannot write into root's cache.
        download.args(["-o", "APT::Sandbox::User=root"]);
    }
    let done = download.args(["-q", "download", &package]).current_dir(folder.path()).output()?;
    let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    ensure!(done.status.success(), "apt-get download {package} failed; `apt-get update` as root may help\n{said}");
    let archive = file_beginning(folder.path(), &format!("{package}_"))?;
    unpack(&archive, folder.path(), &cache.join(&package))
}

/// Takes /boot out of the package and puts it in place in one step, so that a parallel run sees all or nothing.
fn unpack(archive: &Path, scratch: &Path, place: &Path) -> anyhow::Result<PathBuf> {
    let boot = scratch.join("boot");
    std::fs::create_dir(&boot)?;
    let mut files = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(archive)
        .stdout(Stdio::piped())
        .spawn()
        .context("running dpkg-deb")?;
    let stream = files.stdout.take().expect("a pipe was asked for");
    let mut tar = Command::new("tar");
    tar.args(["-xf", "-", "--strip-components=2", "./boot"]).current_dir(&boot).stdin(stream);
    let unpacked = tar.status().context("running tar")?;
    ensure!(files.wait()?.success() && unpacked.success(), "{} cannot be unpacked", archive.display());
    file_beginning(&boot, IMAGE)?;
    let config = std::fs::read_to_string(file_beginning(&boot, CONFIG)?)?;
    if let Some(option) = not_built_in(&config).first() {
        bail!("{} has CONFIG_{option} not built in: a kernel of 6.12 or later is needed", archive.display());
    }
    match std::fs::rename(&boot, place) {
        // A parallel run may have been faster.
        Err(e) if !place.is_dir() => Err(e).with_context(|| format!("moving the kernel to {}", place.display())),
        _ => file_beginning(place, IMAGE),
    }
}

fn not_built_in(config: &str) -> Vec<&'static str> {
    let has =
        |option: &str| config.lines().any(|l| l.strip_prefix("CONFIG_").is_some_and(|l| l == format!("{option}=y")));
    BUILT_IN.iter().copied().filter(|o| !has(o)).collect()
}

fn file_beginning(folder: &Path, beginning: &str) -> anyhow::Result<PathBuf> {
    let files = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let found = files.flatten().find(|f| f.file_name().to_string_lossy().starts_with(beginning));
    Ok(found.with_context(|| format!("{} holds no {beginning}*", folder.display()))?.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number_and_meta_packages_left_out() {
        let names = [
            "linux-image-6.1.0-47-cloud-amd64",
            "linux-image-6.12-cloud-amd64",
            "linux-image-cloud-amd64",
            "linux-image-6.12.99+deb12-cloud-amd64",
            "linux-image-6.12.117+deb12-cloud-amd64",
            "linux-image-6.12.200+deb12-amd64",
            "linux-image-6.9.300-cloud-amd64",
            ".fetchAbc",
        ];
        let kernels: Vec<String> = names.iter().filter(|n| is_kernel(n)).map(|n| (*n).to_owned()).collect();
        assert_eq!(kernels.len(), 4);
        assert_eq!(newest(kernels.into_iter()).unwrap(), "linux-image-6.12.117+deb12-cloud-amd64");
        assert!(version_key("6.12.9") < version_key("6.12.10") && version_key("6.1.300") < version_key("6.12.0"));
    }

    #[test]
    fn modular_kernels_are_recognised() {
        let all: String = BUILT_IN.iter().map(|o| format!("CONFIG_{o}=y\n")).collect();
        assert!(not_built_in(&all).is_empty());
        assert_eq!(not_built_in(&all.replace("CONFIG_VIRTIO_PCI=y", "CONFIG_VIRTIO_PCI=m")), ["VIRTIO_PCI"]);
        assert_eq!(not_built_in("# CONFIG_NUMA is not set\n").len(), BUILT_IN.len());
    }

    #[test]
    fn a_kernel_of_ones_own_must_exist() {
        let error = image(Some(Path::new("/no/vmlinuz"))).unwrap_err().to_string();
        assert!(error.contains("/no/vmlinuz"), "{error}");
    }
}
