//! perf.data files: accepted or refused, never a panic, never more memory than the file has bytes for.
#![no_main]
use homenode_import::{ExactSink, ImportError, ImportSink, Input, read};
use homenode_sampling::{Notice, RawSample};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::path::Path;

#[derive(Default)]
struct Count {
    samples: u64,
}

impl ImportSink for Count {
    fn sample(&mut self, s: &RawSample) -> Result<(), ImportError> {
        assert!(s.weight >= 1 && s.addr > 0 && s.addr < 1 << 63);
        self.samples += 1;
        Ok(())
    }
    fn notice(&mut self, _: &Notice) -> Result<(), ImportError> {
        Ok(())
    }
    fn name(&mut self, _: u32, name: &str, _: bool) {
        assert!(name.len() <= 4 * 64);
    }
    fn exact(&mut self) -> Result<&mut dyn ExactSink, ImportError> {
        Err(ImportError::File { path: "fuzz".into(), why: "no samples".to_owned() })
    }
}

fuzz_target!(|data: &[u8]| {
    let mut sink = Count::default();
    match read(Path::new("fuzz"), Input::File(&mut Cursor::new(data)), &mut sink) {
        Ok((_, report)) => assert_eq!(report.counts.delivered, sink.samples),
        Err(error) => assert_eq!(error.exit_status(), 3, "{error}"),
    }
});
