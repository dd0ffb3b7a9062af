//! Writes seeds for the fuzz targets into `corpus/`: the files of small synthetic datasets. Run it once from `fuzz/`.
use homenode_fuzz::perf;
use homenode_trace::Sampling;
use homenode_trace::dataset::{EVENTS_FILE, MANIFEST_FILE};
use homenode_trace::framing::Codec;
use homenode_trace::store::Store;
use homenode_trace::symbols::Symbols;
use homenode_trace::synthetic::random;
use std::fs;
use std::io::Result;

fn seed(target: &str, name: &str, bytes: &[u8]) -> Result<()> {
    let folder = format!("corpus/{target}");
    fs::create_dir_all(&folder)?;
    fs::write(format!("{folder}/{name}"), bytes)
}

fn main() -> Result<()> {
    seed("perf_data", "file", &perf::file())?;
    seed("perf_data", "spe", &perf::spe_file())?;
    seed("perf_data", "pipe", &perf::pipe())?;
    for (name, sample_type) in [("plain", 0xc1cf), ("all", 0x1ff_ffff), ("address", 0x1_000f)] {
        seed("perf_ring", name, &perf::ring(sample_type))?;
    }
    for n in 0..12u8 {
        let mut b = random(n.into(), 2, 80);
        b.codec([Codec::Raw, Codec::Lz4, Codec::Zstd][usize::from(n % 3)]).frame_refs(40);
        b.manifest().complete = n % 2 == 0;
        if n % 4 == 3 {
            b.sampled(Sampling::default());
        }
        let store = b.store();
        for name in store.names()? {
            let Some(bytes) = store.get(&name) else { continue };
            let selector = match name.as_str() {
                MANIFEST_FILE => 0,
                Symbols::FILE => 1,
                EVENTS_FILE => 2,
                _ => 3,
            };
            seed("manifest_open", &format!("{n}-{selector}"), &[&[selector], bytes.as_slice()].concat())?;
            match selector {
                2 => seed("events_decode", &format!("{n}"), &bytes)?,
                3 => seed("frame_decode", &format!("{n}"), &bytes)?,
                _ => {}
            }
        }
        seed(
            "round_trip",
            &format!("{n}"),
            &(0..200u32).map(|i| (i * 37 * u32::from(n + 1) >> 3) as u8).collect::<Vec<_>>(),
        )?;
    }
    Ok(())
}
