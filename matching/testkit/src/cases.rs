// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The corpus of `spec/cases/`: short sequences of operations, each with the outcome that it must have.
//!
//! A case cites the clause of `spec/matching.md` that it is an example of. Its steps are operations in the general
//! form (`bits`) or MPI calls (`comm`), which [`mb_core::mpi`] maps onto it:
//!
//! ```toml
//! [[case]]
//! name = "a receive of any source takes the oldest message"
//! clause = "M-4"
//! comms.row = { context = 3, ranks = [4, 5, 6] }
//! steps = [
//!   { arrive = 1, comm = "row", source = 2, tag = 9, then = "message 1 unexpected" },
//!   { post = 1, comm = "row", source = "any", tag = 9, then = "receive 1 matched message 1" },
//! ]
//! ```
//!
//! The reader is strict: an unknown key, a field that a step does not use or a clause that does not exist is an
//! error that names file, case and step.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use mb_core::mpi::{self, ANY_SOURCE, ANY_TAG, Context, PROC_NULL, Traffic};
use mb_core::{EngineFault, Envelope, Initiator, MsgId, Op, Outcome, Pattern, Picos, ProbeId, QueueLengths, RecvId};
use mb_oracle::Oracle;
use serde::Deserialize;

use crate::MakeEngine;
use crate::drive::{Fetch, Offer, Visits, judge, judge_one_by_one};

/// One case, checked and translated into operations.
#[derive(Clone, Debug)]
pub struct Case {
    /// File and name, for messages.
    pub name: String,
    /// The clause that it is an example of.
    pub clause: String,
    /// The operations that are offered; steps that offer none are left out.
    pub ops: Vec<Op>,
}

/// The text of the contract.
pub const CONTRACT: &str = include_str!("../../../spec/matching.md");

/// The outcome of a step that offers no operation.
const NOTHING: &str = "nothing is offered";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<RawCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCase {
    name: String,
    clause: String,
    #[serde(default)]
    comms: BTreeMap<String, RawComm>,
    steps: Vec<Step>,
}

/// A communicator: the world ranks of its group, or of the group that messages come from if it is an intercommunicator.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawComm {
    context: u32,
    ranks: Vec<u32>,
}

/// A step: exactly one verb, what it looks for or carries, and what must result.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Step {
    /// Posts a receive of this name.
    post: Option<u64>,
    /// Creates a persistent receive, which is posted by `start`.
    init: Option<u64>,
    /// Starts a persistent receive.
    start: Option<u64>,
    /// A message of this name arrives.
    arrive: Option<u64>,
    /// Cancels a receive.
    cancel: Option<u64>,
    probe: Option<u64>,
    matched_probe: Option<u64>,
    /// Receives the message that a matched probe took.
    receive_matched: Option<u64>,

    bits: Option<String>,
    ignore: Option<String>,
    initiator: Option<Peer>,

    comm: Option<String>,
    source: Option<Peer>,
    tag: Option<Peer>,
    /// Where a message is sent, if not to this receiver: `proc_null`.
    dest: Option<Peer>,
    /// `collective` for messages that a collective is made of.
    traffic: Option<String>,
    /// Sizes take no part; they are in cases to show just that.
    bytes: Option<u64>,

    then: String,
    visits: Option<u32>,
    /// Posted receives and unexpected messages after this step.
    lengths: Option<(usize, usize)>,
}

/// A number, or one of the words `any` and `proc_null`.
#[derive(Deserialize, Clone)]
#[serde(untagged)]
enum Peer {
    Number(u32),
    Word(String),
}

/// Every case of `spec/cases/`, in order of file.
///
/// # Errors
/// The first defect.
pub fn corpus() -> Result<Vec<Case>, String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec/cases");
    let in_folder = |error: std::io::Error| format!("spec/cases: {error}");
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(in_folder)? {
        paths.push(entry.map_err(in_folder)?.path());
    }
    paths.sort();
    let mut cases = Vec::new();
    for path in paths {
        let name = format!("spec/cases/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        cases.extend(read(&name, &text)?);
    }
    Ok(cases)
}

/// Reads the cases of one file, whose `name` is for messages, and checks them on the oracle.
///
/// # Errors
/// The first defect.
pub fn read(name: &str, text: &str) -> Result<Vec<Case>, String> {
    let file: File = toml::from_str(text).map_err(|error| format!("{name}: {error}"))?;
    let mut cases = Vec::new();
    for raw in &file.case {
        let name = format!("{name}, case `{}`", raw.name);
        let ops = translate(raw).map_err(|error| format!("{name}: {error}"))?;
        cases.push(Case { name, clause: raw.clause.clone(), ops });
    }
    Ok(cases)
}

/// Checks that every clause of the contract has a case or says why not, and that every case cites a clause.
///
/// # Errors
/// Every objection, one a line.
pub fn check_clauses(contract: &str, cases: &[Case]) -> Result<(), String> {
    let mut clauses: BTreeMap<&str, bool> = BTreeMap::new();
    let mut last = None;
    for line in contract.lines() {
        if let Some(clause) = clause_defined_in(line) {
            clauses.insert(clause, false);
            last = Some(clause);
        }
        if line.contains("(Not testable here: ")
            && let Some(clause) = last
        {
            clauses.insert(clause, true);
        }
    }
    let cited: BTreeSet<&str> = cases.iter().map(|case| case.clause.as_str()).collect();
    let mut objections = Vec::new();
    for case in cases {
        if !clauses.contains_key(case.clause.as_str()) {
            objections.push(format!("{}: there is no clause {}", case.name, case.clause));
        }
    }
    for (clause, excused) in clauses {
        match (excused, cited.contains(clause)) {
            (false, false) => objections.push(format!("clause {clause} has no case")),
            (true, true) => objections.push(format!("clause {clause} has a case, but says that it is not testable")),
            _ => {}
        }
    }
    if objections.is_empty() { Ok(()) } else { Err(objections.join("\n")) }
}

/// The files of `spec/cases/`, for programs that run without the repository.
const FILES: &[(&str, &str)] = &[
    ("spec/cases/cancel.toml", include_str!("../../../spec/cases/cancel.toml")),
    ("spec/cases/general.toml", include_str!("../../../spec/cases/general.toml")),
    ("spec/cases/mpi.toml", include_str!("../../../spec/cases/mpi.toml")),
    ("spec/cases/order.toml", include_str!("../../../spec/cases/order.toml")),
    ("spec/cases/probe.toml", include_str!("../../../spec/cases/probe.toml")),
    ("spec/cases/proc_null.toml", include_str!("../../../spec/cases/proc_null.toml")),
    ("spec/cases/special.toml", include_str!("../../../spec/cases/special.toml")),
    ("spec/cases/visits.toml", include_str!("../../../spec/cases/visits.toml")),
];

/// As [`corpus`], from the files as they were when this library was built.
///
/// # Errors
/// As [`corpus`].
pub fn built_in() -> Result<Vec<Case>, String> {
    let cases: Result<Vec<_>, String> = FILES.iter().map(|(name, text)| read(name, text)).collect();
    Ok(cases?.into_iter().flatten().collect())
}

/// Runs `cases` on engines made by `make`: one operation at a time, and all offered at once.
///
/// # Errors
/// The first objection, with the case's name.
pub fn run(cases: &[Case], make: MakeEngine<'_>, visits: Visits) -> Result<(), String> {
    for case in cases {
        let named = |error| format!("{}: {error}", case.name);
        let offers: Vec<_> = case.ops.iter().map(|&op| Offer { at: Picos::ZERO, op }).collect();
        let judged = EngineFault::catch(|| {
            judge_one_by_one(make().as_mut(), &case.ops, visits)?;
            judge(make().as_mut(), &offers, Fetch::RunUntil, visits)
        });
        judged.unwrap_or_else(|fault| Err(fault.0)).map_err(named)?;
    }
    Ok(())
}

/// The id that a line of the contract defines: capitals, a hyphen, digits and a full stop at its begin.
fn clause_defined_in(line: &str) -> Option<&str> {
    let (id, _) = line.split_once(". ")?;
    let (letters, digits) = id.split_once('-')?;
    let is_id = letters.len() == 1
        && letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_id.then_some(id)
}

/// The operations of a case, each checked against what the case says and the oracle does.
fn translate(case: &RawCase) -> Result<Vec<Op>, String> {
    let mut translation = Translation { comms: &case.comms, persistent: BTreeMap::new(), taken: BTreeSet::new() };
    let mut oracle = Oracle::new();
    let mut ops = Vec::new();
    if case.steps.is_empty() {
        return Err("there are no steps".to_owned());
    }
    for (number, step) in (1..).zip(&case.steps) {
        let at = |error: String| format!("step {number}: {error}");
        let op = translation.op(step).map_err(at)?;
        let (found, visits) = match op {
            Some(op) => {
                let (outcome, visits) = oracle.apply(op);
                if let (Op::MatchedProbe { .. }, Outcome::Probed(_, Some(msg))) = (op, outcome) {
                    translation.taken.insert(msg);
                }
                ops.push(op);
                (outcome.to_string(), Some(visits))
            }
            None => (NOTHING.to_owned(), None),
        };
        if found != step.then {
            return Err(at(format!("the case says `{}`, the oracle `{found}`", step.then)));
        }
        if step.visits.is_some() && step.visits != visits {
            return Err(at(format!("the case says {:?} visits, the oracle {visits:?}", step.visits)));
        }
        let QueueLengths { posted, unexpected } = oracle.queue_lengths();
        if let Some(lengths) = step.lengths
            && lengths != (posted, unexpected)
        {
            return Err(at(format!("the case says lengths {lengths:?}, the oracle {:?}", (posted, unexpected))));
        }
    }
    Ok(ops)
}

struct Translation<'a> {
    comms: &'a BTreeMap<String, RawComm>,
    /// Persistent receives and their patterns; `None` for those of `MPI_PROC_NULL`.
    persistent: BTreeMap<u64, Option<Pattern>>,
    /// Messages that a matched probe took and that are not received yet.
    taken: BTreeSet<MsgId>,
}

impl Translation<'_> {
    fn op(&mut self, step: &Step) -> Result<Option<Op>, String> {
        let verbs = [
            ("post", step.post),
            ("init", step.init),
            ("start", step.start),
            ("arrive", step.arrive),
            ("cancel", step.cancel),
            ("probe", step.probe),
            ("matched_probe", step.matched_probe),
            ("receive_matched", step.receive_matched),
        ];
        let found: Vec<_> = verbs.iter().filter_map(|(verb, id)| Some((*verb, (*id)?))).collect();
        let [(verb, id)] = found[..] else {
            return Err(format!("found {} verbs, expected exactly one in a step", found.len()));
        };
        match verb {
            "cancel" | "start" | "receive_matched" => step.refuse_fields(verb)?,
            "arrive" => {}
            _ if step.dest.is_some() => return Err(format!("`{verb}`: found `dest`, expected none")),
            _ => {}
        }
        let pattern_op = |pattern: Option<Pattern>, make: fn(u64, Pattern) -> Op| pattern.map(|p| make(id, p));
        let post: fn(u64, Pattern) -> Op = |id, pattern| Op::Post { recv: RecvId(id), pattern };
        Ok(match verb {
            "post" => pattern_op(self.pattern(step)?, post),
            "init" => {
                let pattern = self.pattern(step)?;
                self.persistent.insert(id, pattern);
                None
            }
            "start" => {
                let pattern = self.persistent.get(&id).ok_or_else(|| format!("receive {id} is not persistent"))?;
                pattern_op(*pattern, post)
            }
            "arrive" => self.envelope(step)?.map(|envelope| Op::Arrive { msg: MsgId(id), envelope }),
            "cancel" => Some(Op::Cancel { recv: RecvId(id) }),
            "probe" => pattern_op(self.pattern(step)?, |id, pattern| Op::Probe { probe: ProbeId(id), pattern }),
            "matched_probe" => {
                pattern_op(self.pattern(step)?, |id, pattern| Op::MatchedProbe { probe: ProbeId(id), pattern })
            }
            _ if self.taken.remove(&MsgId(id)) => None,
            _ => return Err(format!("no matched probe took message {id}")),
        })
    }

    fn pattern(&self, step: &Step) -> Result<Option<Pattern>, String> {
        if let Some(bits) = &step.bits {
            step.refuse_mpi()?;
            return Ok(Some(Pattern {
                bits: hexadecimal(bits)?,
                ignore: step.ignore.as_deref().map_or(Ok(0), hexadecimal)?,
                initiator: match &step.initiator {
                    Some(Peer::Number(rank)) => Some(Initiator(*rank)),
                    Some(Peer::Word(word)) if word == "any" => None,
                    _ => return Err("`initiator`: expected a number or `any`".to_owned()),
                },
            }));
        }
        let (comm, traffic) = self.comm(step)?;
        let special = |peer: &Option<Peer>, words: &[(&str, i32)]| match peer {
            Some(Peer::Number(number)) => i32::try_from(*number).map_err(|error| error.to_string()),
            Some(Peer::Word(word)) => {
                let known = words.iter().find(|(known, _)| known == word);
                known.map(|(_, value)| *value).ok_or_else(|| format!("found `{word}`, expected a number or a wildcard"))
            }
            None => Err("a pattern needs `bits` and `initiator`, or `source` and `tag`".to_owned()),
        };
        let source = special(&step.source, &[("any", ANY_SOURCE), ("proc_null", PROC_NULL)])?;
        let tag = special(&step.tag, &[("any", ANY_TAG)])?;
        let context = context(&comm)?;
        mpi::call_pattern(context, traffic, source, tag, |rank| comm.ranks.get(rank as usize).copied().map(Initiator))
            .map_err(|error| error.to_string())
    }

    fn envelope(&self, step: &Step) -> Result<Option<Envelope>, String> {
        if let Some(bits) = &step.bits {
            step.refuse_mpi()?;
            let Some(Peer::Number(rank)) = step.initiator else {
                return Err("`initiator` of a message must be a number".to_owned());
            };
            return Ok(Some(Envelope { bits: hexadecimal(bits)?, initiator: Initiator(rank) }));
        }
        let (comm, traffic) = self.comm(step)?;
        match (&step.dest, &step.source, &step.tag) {
            (Some(Peer::Word(word)), ..) if word == "proc_null" => Ok(None),
            (None, Some(Peer::Number(source)), Some(Peer::Number(tag))) => {
                let world = comm.ranks.get(*source as usize).ok_or_else(|| format!("no rank {source} in `comm`"))?;
                Ok(Some(mpi::envelope(context(&comm)?, traffic, Initiator(*world), *tag)))
            }
            _ => Err("a message needs `source` and `tag` as numbers; `dest` can only be `proc_null`".to_owned()),
        }
    }

    /// The communicator of a step; without `comm` it is `MPI_COMM_WORLD`, context 0 with 16 ranks.
    fn comm(&self, step: &Step) -> Result<(RawComm, Traffic), String> {
        if step.ignore.is_some() || step.initiator.is_some() {
            return Err("`ignore` and `initiator` belong to the general form, which has `bits`".to_owned());
        }
        let comm = match step.comm.as_deref() {
            None | Some("world") => RawComm { context: 0, ranks: (0..16).collect() },
            Some(name) => {
                let comm = self
                    .comms
                    .get(name)
                    .ok_or_else(|| format!("communicator `{name}`: found no declaration, expected one in `comms`"))?;
                RawComm { context: comm.context, ranks: comm.ranks.clone() }
            }
        };
        let traffic = match step.traffic.as_deref() {
            None => Traffic::User,
            Some("collective") => Traffic::Collective,
            Some(other) => return Err(format!("`traffic`: found `{other}`, expected `collective` or none")),
        };
        Ok((comm, traffic))
    }
}

impl Step {
    fn refuse_mpi(&self) -> Result<(), String> {
        let present = self.comm.is_some() || self.source.is_some() || self.tag.is_some() || self.dest.is_some();
        if present || self.traffic.is_some() {
            return Err("a step has `bits` or the arguments of an MPI call, not both".to_owned());
        }
        Ok(())
    }

    fn refuse_fields(&self, verb: &str) -> Result<(), String> {
        self.refuse_mpi().map_err(|_| format!("`{verb}`: found arguments of an MPI call, expected none"))?;
        if self.bits.is_some() || self.ignore.is_some() || self.initiator.is_some() || self.bytes.is_some() {
            return Err(format!("`{verb}`: found a pattern or size, expected none"));
        }
        Ok(())
    }
}

fn context(comm: &RawComm) -> Result<Context, String> {
    if comm.context >= 1 << 31 {
        return Err(format!("context: found {}, expected at most 31 bits", comm.context));
    }
    Ok(Context::new(comm.context))
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").map(|digits| digits.replace('_', ""));
    digits
        .and_then(|digits| u64::from_str_radix(&digits, 16).ok())
        .ok_or_else(|| format!("found `{text}`, expected a hexadecimal number such as \"0xff\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(case: &str) -> String {
        read("a.toml", &format!("[[case]]\nname = \"n\"\nclause = \"O-1\"\n{case}\n")).unwrap_err()
    }

    #[test]
    fn a_case_that_the_oracle_contradicts_is_refused() {
        assert_eq!(
            error("steps = [{ post = 1, source = 0, tag = 1, then = \"receive 1 matched message 1\" }]"),
            "a.toml, case `n`: step 1: the case says `receive 1 matched message 1`, the oracle `receive 1 posted`"
        );
        assert_eq!(
            error("steps = [{ cancel = 1, then = \"receive 1 not cancelled\", visits = 1 }]"),
            "a.toml, case `n`: step 1: the case says Some(1) visits, the oracle Some(0)"
        );
        assert_eq!(
            error("steps = [{ cancel = 1, then = \"receive 1 not cancelled\", lengths = [1, 0] }]"),
            "a.toml, case `n`: step 1: the case says lengths (1, 0), the oracle (0, 0)"
        );
    }

    #[test]
    fn a_step_that_makes_no_sense_is_refused() {
        let step = |text: &str| error(&format!("steps = [{{ {text}, then = \"\" }}]"));
        let prefix = "a.toml, case `n`: step 1: ";
        for (text, message) in [
            ("bytes = 1", "found 0 verbs, expected exactly one in a step"),
            ("post = 1, cancel = 1", "found 2 verbs, expected exactly one in a step"),
            ("post = 1", "a pattern needs `bits` and `initiator`, or `source` and `tag`"),
            ("post = 1, bits = \"7\", initiator = 1", "found `7`, expected a hexadecimal number such as \"0xff\""),
            ("post = 1, bits = \"0x7\", initiator = \"all\"", "`initiator`: expected a number or `any`"),
            ("post = 1, bits = \"0x7\", tag = 1", "a step has `bits` or the arguments of an MPI call, not both"),
            ("post = 1, source = 16, tag = 1", "source: found 16, expected a rank of the communicator"),
            (
                "post = 1, comm = \"row\", source = 0, tag = 1",
                "communicator `row`: found no declaration, expected one in `comms`",
            ),
            (
                "arrive = 1, source = \"any\", tag = 1",
                "a message needs `source` and `tag` as numbers; `dest` can only be `proc_null`",
            ),
            ("cancel = 1, tag = 1", "`cancel`: found arguments of an MPI call, expected none"),
            ("start = 1", "receive 1 is not persistent"),
            ("receive_matched = 1", "no matched probe took message 1"),
        ] {
            assert_eq!(step(text), format!("{prefix}{message}"));
        }
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line() {
        let error = error("steps = [{ pots = 1, then = \"\" }]");
        assert!(error.starts_with("a.toml: TOML parse error at line 4, column 12"), "{error}");
        assert!(error.contains("unknown field `pots`"), "{error}");
    }

    #[test]
    fn clauses_and_cases_must_meet() {
        let contract = "O-1. One.\nO-2. Two.\n(Not testable here: no.)\nO-3. Three.\n";
        let case = |clause: &str| Case { name: format!("case {clause}"), clause: clause.to_owned(), ops: Vec::new() };
        assert_eq!(check_clauses(contract, &[case("O-1"), case("O-3")]), Ok(()));
        assert_eq!(
            check_clauses(contract, &[case("O-1"), case("O-2"), case("O-4")]).unwrap_err(),
            "case O-4: there is no clause O-4\nclause O-2 has a case, but says that it is not testable\nclause O-3 has no case"
        );
    }
}
