//! What rows are about: members of families, one file each.
use crate::Question;
use homenode_coherence::hindsight::Delayed;

/// Things that have a cost and of which a question asks some.
pub struct Family {
    /// Name in stored answers.
    pub name: &'static str,
    /// How tables call a member; `None` if the question asks for no such member.
    key: fn(&Question, u32) -> Option<String>,
    /// How sentences and legends call it.
    words: fn(&Question, u32) -> Option<String>,
}

homenode_base::registry!(
    /** Every family, in the order of rows. */ Family;
    policies, bounds, protocols, counters
);

/// What a row is about: a member of a family. In the order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct What {
    /// Place in [`ALL`].
    family: u8,
    member: u32,
}

const POLICIES: u8 = 0;
const BOUNDS: u8 = 1;
const PROTOCOLS: u8 = 2;
const COUNTERS: u8 = 3;

impl What {
    /// Each block at its cheapest home for ever.
    pub const BEST_STATIC: What = What { family: BOUNDS, member: bounds::BEST_STATIC };
    /// The optimum without replication.
    pub const WITHOUT_REPLICATION: What = What { family: BOUNDS, member: bounds::WITHOUT_REPLICATION };
    /// The optimum with replication, or a lower bound for it.
    pub const WITH_REPLICATION: What = What { family: BOUNDS, member: bounds::WITH_REPLICATION };

    /// The optimum of protocols of page coherence.
    pub const COHERENCE: What = What { family: PROTOCOLS, member: protocols::OPTIMUM };

    /// A protocol of page coherence, by its place in [`Question::protocols`].
    pub const fn protocol(place: u32) -> What {
        What { family: PROTOCOLS, member: place }
    }
    /// A protocol of page coherence with one of the counters that hindsight tries, or `None`: the best one of each page.
    pub const fn counter(protocol: Delayed, lane: Option<usize>) -> What {
        What { family: COUNTERS, member: counters::member(protocol, lane) }
    }
    /// The protocol and counter, if it is one of hindsight's.
    pub(crate) fn as_counter(self) -> Option<(u32, Option<usize>)> {
        (self.family == COUNTERS).then(|| counters::parts(self.member))
    }
    /// Whether it is about page coherence: a protocol, its optimum, or a counter in hindsight.
    pub fn is_coherence(self) -> bool {
        matches!(self.family, PROTOCOLS | COUNTERS)
    }
    /// A policy, by its place in [`Question::policies`].
    pub const fn policy(place: u32) -> What {
        What { family: POLICIES, member: place }
    }
    /// The place of the policy, if it is one.
    pub fn as_policy(self) -> Option<u32> {
        (self.family == POLICIES).then_some(self.member)
    }
    /// A member of the family of this name, if there is such a family.
    pub fn of(family: &str, member: u32) -> Option<What> {
        let family = ALL.iter().position(|f| f.name == family)?;
        Some(What { family: family as u8, member })
    }
    /// The family.
    pub fn family(self) -> &'static Family {
        ALL[usize::from(self.family)]
    }
    /// The place in the family.
    pub fn member(self) -> u32 {
        self.member
    }
    /// How tables call it; empty if the question does not ask for it.
    pub fn key(self, question: &Question) -> String {
        (self.family().key)(question, self.member).unwrap_or_default()
    }
    /// How sentences and legends call it; empty if the question does not ask for it.
    pub fn words(self, question: &Question) -> String {
        (self.family().words)(question, self.member).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_stand_where_their_members_say() {
        assert_eq!(ALL[usize::from(POLICIES)].name, "policies");
        assert_eq!(ALL[usize::from(BOUNDS)].name, "bounds");
        assert_eq!(ALL[usize::from(PROTOCOLS)].name, "protocols");
        assert_eq!(ALL[usize::from(COUNTERS)].name, "counters");
        let bounds = [What::BEST_STATIC, What::WITHOUT_REPLICATION, What::WITH_REPLICATION];
        let protocols = [What::protocol(0), What::protocol(5), What::COHERENCE];
        let all = [[What::policy(0), What::policy(7), bounds[0]], [bounds[1], bounds[2], protocols[0]]].concat();
        let counters = [What::counter(Delayed::Update, Some(3)), What::counter(Delayed::Invalidate, None)];
        let all = [all, protocols[1..].to_vec(), counters.to_vec()].concat();
        assert!(all.is_sorted_by(|a, b| a < b), "rows come in this order");
        for what in all {
            assert_eq!(What::of(what.family().name, what.member()), Some(what));
        }
        assert_eq!(What::of("policy", 0), None);
    }
}
