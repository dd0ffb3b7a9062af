//! The Firefox Profiler: what accesses of memory cost as samples, by code and data.
//!
//! One sample a thread, window and place, as long as the accesses of the place cost there. Stacks are what is known: callers into which
//! the code was inlined, the code, and as the innermost frame the data. Frames of data have the category where the data was.
use super::Viewer;
use crate::timeline::Timeline;
use crate::windows::{Kind, Place, Window};
use fx::{CategoryColor, CategoryHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, StackHandle, ThreadHandle};
use fxprof_processed_profile as fx;
use homenode_analysis::UNKNOWN_OBJECT;
use homenode_base::SiteId;
use homenode_sim::Objects;
use serde_json::Value;
use std::collections::HashMap;
use std::io;

pub(super) static SPEC: Viewer = Viewer {
    name: "firefox",
    places: true,
    open: "https://profiler.firefox.com, \"Load a profile from file\" (the file stays on your machine)",
    write,
};

fn write(timeline: &Timeline<'_>, to: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = Writer::new(timeline);
    for thread in 0..timeline.threads.len() as u32 {
        writer.thread(thread);
    }
    let Writer { profile, weights_ms, .. } = writer;
    let mut document = serde_json::to_value(&profile)?;
    weigh(&mut document, &weights_ms);
    document["meta"]["extra"] = extra(timeline);
    Ok(serde_json::to_writer(to, &document)?)
}

/// What the viewer's window on the profile says of it.
fn extra(timeline: &Timeline<'_>) -> Value {
    let entry = |label: &str, value: String| serde_json::json!({ "label": label, "format": "string", "value": value });
    let notes = (1..).zip(&timeline.notes).map(|(n, note)| entry(&format!("Note {n}"), note.clone()));
    let recorded = timeline.recorded_at.clone().unwrap_or_else(|| "time not known".to_owned());
    let of = [("Command", timeline.command.clone()), ("Recorded", recorded), ("Machine", timeline.machine.clone())];
    let entries: Vec<Value> = of.into_iter().map(|(label, value)| entry(label, value)).chain(notes).collect();
    serde_json::json!([{ "label": "Homenode", "entries": entries }])
}

/// Weights are fractions of a millisecond, which the library does not have: it was given their numbers instead.
fn weigh(document: &mut Value, weights_ms: &[f64]) {
    for thread in document["threads"].as_array_mut().into_iter().flatten() {
        for weight in thread["samples"]["weight"].as_array_mut().into_iter().flatten() {
            let number = weight.as_u64().and_then(|n| usize::try_from(n).ok());
            *weight = number.and_then(|n| weights_ms.get(n)).copied().unwrap_or(0.0).into();
        }
    }
}

struct Writer<'t, 'n> {
    timeline: &'t Timeline<'n>,
    profile: Profile,
    processes: Vec<fx::ProcessHandle>,
    categories: HashMap<Kind, CategoryHandle>,
    /// Milliseconds; samples have numbers of them. The first is 0.
    weights_ms: Vec<f64>,
    /// Stacks of the thread that is being written.
    stacks: HashMap<(Option<u32>, u32, Kind), Option<StackHandle>>,
}

/// Kinds with what they are called.
const KINDS: [(Kind, &str, CategoryColor); 5] = [
    (Kind::Local, "Local memory", CategoryColor::Green),
    (Kind::Remote, "Remote memory", CategoryColor::Red),
    (Kind::Transfer, "Cache of another processor", CategoryColor::Orange),
    (Kind::LastLevel, "Last-level cache", CategoryColor::Yellow),
    (Kind::Mixed, "Other places", CategoryColor::Gray),
];

impl<'t, 'n> Writer<'t, 'n> {
    fn new(timeline: &'t Timeline<'n>) -> Writer<'t, 'n> {
        let windows = timeline.windows.len().max(1) as u64;
        let interval = fx::SamplingInterval::from_nanos((timeline.scale.end() / windows / 1000).max(1));
        // The axis begins at 0; what day that was stands among the notes.
        let began = fx::ReferenceTimestamp::from_millis_since_unix_epoch(0.0);
        let mut profile = Profile::new(&timeline.command, began, interval);
        // Names are what is known: there is nothing to look up.
        profile.set_symbolicated(true);
        let categories = KINDS.map(|(kind, name, color)| (kind, profile.add_category(name, color)));
        let start = fx::Timestamp::from_nanos_since_reference(0);
        let processes = (0..timeline.processes.len())
            .map(|i| profile.add_process(&timeline.process(i), i as u32 + 1, start))
            .collect();
        let categories = categories.into_iter().collect();
        Writer { timeline, profile, processes, categories, weights_ms: vec![0.0], stacks: HashMap::new() }
    }

    fn thread(&mut self, thread: u32) {
        let timeline = self.timeline;
        let t = &timeline.threads[thread as usize];
        let (Some((from, to)), Some(process)) = (t.lived, self.processes.get(t.process as usize)) else { return };
        let handle = self.profile.add_thread(*process, thread + 1, at(from), t.process == 0 && thread == 0);
        self.profile.set_thread_name(handle, &timeline.thread(thread));
        self.profile.set_thread_end_time(handle, at(to));
        self.profile.set_thread_samples_weight_type(handle, fx::WeightType::TracingMs);
        self.stacks.clear();
        let mut busy_ps = 0;
        for (n, window) in timeline.windows.iter().enumerate() {
            self.window(handle, thread, (timeline.scale.window(n), window), &mut busy_ps);
        }
        let from = timeline.slices.partition_point(|s| s.thread < thread);
        for s in timeline.slices[from..].iter().take_while(|s| s.thread == thread) {
            let name = self.profile.intern_string(&timeline.phases[s.name as usize]);
            let (from, to) = (timeline.scale.at(s.from), timeline.scale.at(s.to));
            self.profile.add_marker(handle, fx::MarkerTiming::Interval(at(from), at(to)), Phase(name));
        }
    }

    /// The samples of a thread in a window, one after the other from its beginning; then it does something else.
    fn window(
        &mut self,
        handle: ThreadHandle,
        thread: u32,
        ((begin, end), window): ((u64, u64), &Window),
        busy_ps: &mut u64,
    ) {
        let first = window.places.partition_point(|(place, _)| place.thread < thread);
        let places = window.places[first..].iter().take_while(|(place, _)| place.thread == thread);
        let cost: u64 = places.clone().map(|(_, cost)| *cost).fold(0, u64::saturating_add);
        if cost == 0 {
            return;
        }
        // Samples may stand for more than there is time: accesses overlap.
        let length = |part: u64| (u128::from(part) * u128::from(cost.min(end - begin)) / u128::from(cost)) as u64;
        let mut so_far = 0;
        for (place, cost) in places {
            let stack = self.stack(handle, *place);
            let weight = self.weights_ms.len() as i32;
            self.weights_ms.push(*cost as f64 / 1e9);
            let before = *busy_ps / 1_000_000;
            *busy_ps += length(*cost);
            let busy = CpuDelta::from_micros(*busy_ps / 1_000_000 - before);
            self.profile.add_sample(handle, at(begin + length(so_far)), stack, busy, weight);
            so_far += *cost;
        }
        if length(so_far) < end - begin {
            self.profile.add_sample(handle, at(begin + length(so_far)), None, CpuDelta::ZERO, 0);
        }
    }

    /// Callers, code, data.
    fn stack(&mut self, handle: ThreadHandle, place: Place) -> Option<StackHandle> {
        let key = (place.site, place.object, place.kind);
        if let Some(stack) = self.stacks.get(&key) {
            return *stack;
        }
        let mut labels = Vec::new();
        match place.site {
            None => labels.push("(places that cost less)".to_owned()),
            Some(site) => {
                self.code(site, &mut labels);
                labels.push(match place.object {
                    UNKNOWN_OBJECT => "(memory without a name)".to_owned(),
                    object => self.timeline.names.object(object).name,
                });
            }
        }
        let category_pair = self.categories[&place.kind].into();
        let frames: Vec<FrameInfo> = labels
            .iter()
            .map(|label| Frame::Label(self.profile.intern_string(label)))
            .map(|frame| FrameInfo { frame, category_pair, flags: FrameFlags::empty() })
            .collect();
        let stack = self.profile.intern_stack_frames(handle, frames.into_iter());
        self.stacks.insert(key, stack);
        stack
    }

    /// The function with its line, after those into which it was inlined.
    fn code(&self, site: u32, labels: &mut Vec<String>) {
        let label = |function: &str, place: &str| match function {
            "" => place.to_owned(),
            function => format!("{function} ({place})"),
        };
        if let Some(site) = self.timeline.symbols.site(SiteId(site)) {
            labels.extend(site.callers.iter().rev().map(|c| label(&c.function, &format!("{}:{}", c.file, c.line))));
        }
        let name = self.timeline.names.site(site);
        labels.push(label(&name.function, &name.place));
    }
}

fn at(ps: u64) -> fx::Timestamp {
    fx::Timestamp::from_nanos_since_reference(ps / 1000)
}

/// A phase of the program.
struct Phase(fx::StringHandle);

impl fx::StaticSchemaMarker for Phase {
    const UNIQUE_MARKER_TYPE_NAME: &'static str = "Phase";
    const CHART_LABEL: Option<&'static str> = Some("{marker.name}");
    const FIELDS: &'static [fx::StaticSchemaMarkerField] = &[];

    fn name(&self, _: &mut Profile) -> fx::StringHandle {
        self.0
    }
    fn category(&self, _: &mut Profile) -> CategoryHandle {
        CategoryHandle::OTHER
    }
    fn string_field_value(&self, _: u32) -> fx::StringHandle {
        unreachable!("there are no fields")
    }
    fn number_field_value(&self, _: u32) -> f64 {
        unreachable!("there are no fields")
    }
}
