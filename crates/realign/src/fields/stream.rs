//! A source with its data where a layout puts it.
use super::{Census, Keep, Layout, layout};
use crate::Private;
use homenode_base::spaces::tag;
use homenode_sim::shared::{Here, Start};
use homenode_threads::ThreadBinding;
use homenode_trace::order::{Piece, Source, Stream};
use homenode_trace::{Merged, TraceError};

/// A source whose shared data is laid out anew for pages of one size; events stay between the same references.
pub struct Relocated<'a> {
    source: &'a mut dyn Source,
    objects: &'a Start<'a>,
    bindings: &'a [ThreadBinding],
    spaces: Vec<u32>,
    page_bytes: u64,
    private: Private,
    /// The layout, and the merge that it was made for unless it was given.
    layout: Option<(Option<u32>, Layout)>,
}

/// Every change.
const ALL: Keep<'static> = &|_, _| true;

impl<'a> Relocated<'a> {
    /// A source laid out anew, by what it says itself: it is read twice. Processors are the nodes of the bindings. `page_bytes` is
    /// a power of two.
    pub fn new(
        source: &'a mut dyn Source,
        objects: &'a Start<'a>,
        bindings: &'a [ThreadBinding],
        page_bytes: u64,
        private: Private,
    ) -> Relocated<'a> {
        let spaces = bindings.iter().map(|b| b.space).collect();
        Relocated { source, objects, bindings, spaces, page_bytes, private, layout: None }
    }

    /// A source laid out as given.
    pub fn by(
        layout: Layout,
        source: &'a mut dyn Source,
        objects: &'a Start<'a>,
        bindings: &'a [ThreadBinding],
        private: Private,
    ) -> Relocated<'a> {
        let given = Some((None, layout));
        Relocated { layout: given, ..Relocated::new(source, objects, bindings, 1, private) }
    }
}

impl Source for Relocated<'_> {
    fn stream(&mut self, merge: u32) -> Result<Box<dyn Stream + '_>, TraceError> {
        if self.layout.as_ref().is_none_or(|(of, _)| of.is_some_and(|m| m != merge)) {
            let census = Census::of(self.source, merge, self.objects, self.bindings)?;
            let layout = layout(&census, &*(self.objects)(), self.page_bytes, ALL);
            self.layout = Some((Some(merge), layout));
        }
        let layout = self.layout.as_ref().map(|(_, layout)| layout).expect("made just now");
        let here = Here::new((self.objects)(), &self.spaces);
        let (spaces, private) = (&*self.spaces, self.private);
        Ok(Box::new(Laid { stream: self.source.stream(merge)?, here, spaces, layout, private, refs: Vec::new() }))
    }
}

struct Laid<'s> {
    stream: Box<dyn Stream + 's>,
    here: Here<'s>,
    spaces: &'s [u32],
    layout: &'s Layout,
    private: Private,
    /// References of the piece at hand, where they go.
    refs: Vec<Merged>,
}

impl Stream for Laid<'_> {
    fn pull(&mut self) -> Result<Option<Piece<'_>>, TraceError> {
        let Laid { stream, here, spaces, layout, private, refs } = self;
        let Some(piece) = stream.pull()? else { return Ok(None) };
        refs.clear();
        for r in piece.refs {
            let (row, is_private) = here.at(r);
            match (is_private, *private) {
                (true, Private::LeftOut) => {}
                (true, Private::Kept) => refs.push(*r),
                (false, _) => {
                    let space = tag(spaces.get(r.thread as usize).copied().unwrap_or(0));
                    refs.push(Merged { addr: layout.to(row, r.addr ^ space) ^ space, ..*r });
                }
            }
        }
        if let Some((event, _)) = piece.event {
            here.event(event);
        }
        Ok(Some(Piece { refs, event: piece.event }))
    }
}
