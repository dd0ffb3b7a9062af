//! What `homenode sim memory` says of machines with an expander.
use homenode_base::{Cost, TotalCost};
use homenode_report::capacity::SizeDoc;
use homenode_table::{Cell, Column, Kind, Layout, Side, Table};
use homenode_timed::tiers::{Point, Recorded};
use schemars::JsonSchema;
use serde::Serialize;

/// Identifier of the document.
pub(super) const SIM_TIERS_SCHEMA: &str = "https://github.com/homenode/homenode/schema/sim-tiers-1";

/// What a recording costs over the size of DRAM. Costs are in the machine's unit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SimTiersDoc {
    /// Identifier of this kind of document, described by `docs/schema/sim-tiers.json`.
    #[schemars(extend("const" = SIM_TIERS_SCHEMA))]
    pub schema: &'static str,
    /// Path as the user gave it.
    pub dataset: String,
    /// Name of the machine.
    pub machine: String,
    /// Unit of costs.
    pub unit: String,
    /// Bytes of a page.
    pub page_bytes: u64,
    /// Pages that are accessed.
    pub pages: u64,
    /// Accesses that reach memory: behind the machine's caches, or by the weights of samples.
    pub accesses: u64,
    /// Samples behind them; null: the recording is exact.
    pub samples: Option<u64>,
    /// Accesses between two decisions.
    pub tick: u64,
    /// Number of ticks.
    pub ticks: u64,
    /// Price of moving a page into DRAM.
    pub promote: Cost,
    /// Price of moving a page out of DRAM.
    pub demote: Cost,
    /// Cost with everything in DRAM.
    pub in_dram: TotalCost,
    /// Cost with everything in the expander.
    pub in_expander: TotalCost,
    /// What the result does not rest on, in words.
    pub notes: Vec<String>,
    /// Sizes of DRAM, ascending.
    pub points: Vec<PointDoc>,
    /// The least DRAM that costs at most 5 % more than all DRAM: the optimum (or its bound and the plan found), then the policies.
    pub enough: Vec<EnoughDoc>,
}

/// A size of DRAM and what it costs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PointDoc {
    /// The size.
    #[serde(flatten)]
    pub size: SizeDoc,
    /// The optimum.
    pub optimum: OptimumDoc,
    /// Policies.
    pub policies: Vec<PolicyDoc>,
}

/// The dynamic optimum.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OptimumDoc {
    /// Least cost of any placement that changes at ticks; no placement costs less if this is a bound.
    pub cost: TotalCost,
    /// The cost over that with everything in DRAM.
    pub over_dram: f64,
    /// `exact`, or `bound` where it is a lower bound.
    pub kind: &'static str,
    /// Cost of a plan that was found; null where the machine lies outside of the model.
    pub plan: Option<TotalCost>,
    /// Percent that the plan costs more than `cost`; null where there is none.
    pub gap_percent: Option<f64>,
}

/// A policy with a size of DRAM.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PolicyDoc {
    /// Name, with its parameter.
    pub name: String,
    /// Cost of accesses and moves.
    pub cost: TotalCost,
    /// The cost over that with everything in DRAM.
    pub over_dram: f64,
    /// Cost of moves alone.
    pub moves: TotalCost,
    /// Accesses that DRAM served.
    pub dram_accesses: u64,
    /// Pages moved into DRAM.
    pub promoted: u64,
    /// Pages moved out of it.
    pub demoted: u64,
}

/// The least DRAM that is enough.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EnoughDoc {
    /// `optimum`, `bound`, `plan`, or the name of a policy.
    pub name: String,
    /// `enough`, `none of the sizes asked`, or `cannot tell` where samples are few.
    pub verdict: &'static str,
    /// The least size asked from which on every one is within 5 %; null if there is none or nobody can tell.
    pub size: Option<SizeDoc>,
}

impl PointDoc {
    pub(super) fn new(size: SizeDoc, point: &Point, names: &[String], recorded: &Recorded) -> PointDoc {
        let over = |cost: TotalCost| cost.ratio_to(recorded.in_dram);
        let optimum = point.optimum;
        let gap = |plan: TotalCost| 100.0 * (plan.ratio_to(optimum.at_least) - 1.0);
        let policies = names.iter().zip(&point.policies).map(|(name, o)| PolicyDoc {
            name: name.clone(),
            cost: o.cost,
            over_dram: over(o.cost),
            moves: o.moves,
            dram_accesses: o.dram_accesses,
            promoted: o.promoted,
            demoted: o.demoted,
        });
        PointDoc {
            size,
            optimum: OptimumDoc {
                cost: optimum.at_least,
                over_dram: over(optimum.at_least),
                kind: if optimum.is_exact { "exact" } else { "bound" },
                plan: optimum.plan,
                gap_percent: optimum.plan.map(gap),
            },
            policies: policies.collect(),
        }
    }
}

impl SimTiersDoc {
    /// As JSON.
    pub fn to_json(&self) -> String {
        homenode_command::json_line(self)
    }

    /// One line a size and policy as CSV.
    pub fn to_csv(&self) -> String {
        let mut table = Table::new(vec![
            Column::new("dram_bytes", Kind::Count),
            Column::new("dram_percent", Kind::Real),
            Column::new("policy", Kind::Text),
            Column::new("cost", Kind::Wide),
            Column::new("over_dram", Kind::Real),
            Column::new("moves", Kind::Wide),
            Column::new("promoted", Kind::Count),
            Column::new("demoted", Kind::Count),
        ]);
        for p in &self.points {
            let key = || [Cell::from(p.size.bytes), Cell::from(p.size.percent)];
            let name = if p.optimum.kind == "exact" { "optimum" } else { "bound" };
            let cost = [Cell::from(name), Cell::from(p.optimum.cost.0), Cell::from(p.optimum.over_dram)];
            table.push(key().into_iter().chain(cost).chain([Cell::Absent, Cell::Absent, Cell::Absent]));
            for o in &p.policies {
                let cost = [Cell::from(&o.name), Cell::from(o.cost.0), Cell::from(o.over_dram), Cell::from(o.moves.0)];
                table.push(key().into_iter().chain(cost).chain([Cell::from(o.promoted), Cell::from(o.demoted)]));
            }
        }
        table.csv()
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{} on {}\n{} pages of {} B, {} accesses to memory in {} tick{} of {}; a page costs {} to move in and {} to move out ({})\n\
             all in DRAM {}, all in the expander {:.3} times that\n",
            self.dataset,
            self.machine,
            self.pages,
            self.page_bytes,
            self.accesses,
            self.ticks,
            if self.ticks == 1 { "" } else { "s" },
            self.tick,
            self.promote.0,
            self.demote.0,
            self.unit,
            self.in_dram.0,
            self.in_expander.ratio_to(self.in_dram),
        );
        self.notes.iter().for_each(|n| text.push_str(&format!("note: {n}\n")));
        let layout = Layout { indent: 2, absent: "-", ..Default::default() };
        let exact = self.points.iter().all(|p| p.optimum.kind == "exact");
        text.push_str("\ncost over all in DRAM, by size of DRAM\n");
        let right = |name: &str| Column { side: Some(Side::Right), ..Column::new(name, Kind::Text) };
        let names = self.points.first().map_or(Vec::new(), |p| p.policies.iter().map(|o| o.name.as_str()).collect());
        let plan = (!exact).then_some("plan");
        let heads = ["DRAM", "frames", if exact { "optimum" } else { "bound" }].into_iter().chain(plan).chain(names);
        let mut table = Table::new(heads.map(right).collect());
        for p in &self.points {
            let size = [format!("{:.0} %", p.size.percent), p.size.frames.to_string()];
            let found = p.optimum.plan.map_or("-".to_owned(), |c| format!("{:.3}", c.ratio_to(self.in_dram)));
            let optimum = [format!("{:.3}", p.optimum.over_dram)].into_iter().chain(plan.map(|_| found));
            let others = p.policies.iter().map(|o| format!("{:.3}", o.over_dram));
            table.push_words(size.into_iter().chain(optimum).chain(others));
        }
        text.push_str(&table.text(&layout));
        text.push_str("\nleast DRAM within 5 % of all in DRAM, of the sizes asked\n");
        let mut table = Table::new(vec![Column::words("", 0), Column::words("", 0)]);
        for e in &self.enough {
            let size = |s: SizeDoc| format!("{:.0} %: {} frames, {} bytes", s.percent, s.frames, s.bytes);
            table.push_words([e.name.clone(), e.size.map_or(e.verdict.to_owned(), size)]);
        }
        text.push_str(&table.text(&Layout { head: false, ..layout }));
        text
    }
}
