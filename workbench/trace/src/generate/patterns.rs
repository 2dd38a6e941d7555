// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The patterns. Each says in its settings how many messages, how large, how far apart, and how deep the lists get.
//!
//! With these the workloads on which other replay simulators were measured can be made, message for message (all: 4 KiB and 10 us in the halo,
//! 64 bytes and 10 us in the all-to-all, which are the defaults):
//!
//! | workload | pattern and settings |
//! |---|---|
//! | w0, w1 | `halo3d`, 64 ranks, `iterations=260` / `2600` |
//! | w2 | `halo3d`, 64 ranks, `iterations=2000 all_to_all_every=50` |
//! | w3, w3s | `transpose`, 256 ranks, `iterations=16` / `2` |
//! | w4, w4s | the same with `order=reverse` |
//! | w5 | `halo3d`, 1024 ranks, `iterations=160` |
//! | w6 | `transpose`, 1024 ranks, `iterations=1 order=reverse` |
//! | w7 | `transpose`, 64 ranks, `iterations=250 order=reverse` |

use mb_core::mpi::{ANY_SOURCE, PROC_NULL};
use mb_core::settings::Unit;
use mb_core::{SettingError, SettingSpec};

use super::{Parameter, Pattern, Plan, RankOutput};
use crate::error::TraceError;
use crate::program::{Program, Request, Status};
use crate::record::CollectiveOp;
use mb_core::random::Random;

/// Time that passes where one side must be ahead of the other, ns. Assumed: about what a small message takes on a
/// present-day network; only the order that it gives to recorded times matters.
const TURN_NS: u64 = 1_000;

/// More than all turns of one step of any pattern, ns.
pub(super) const MARGIN_NS: u64 = 8 * TURN_NS;

/// Tag of the all-to-all exchange.
const TRANSPOSE_TAG: i32 = 100;

/// Depths of Tanabe and Ohta's Table 1 (average search depth of the unexpected messages) by ranks; the last column is the paper's own
/// linear estimate. Source: papers/001, Table 1, where they are quoted from Brightwell et al.
const TABLE1_RANKS: [u64; 4] = [32, 64, 128, 16_384];
const TABLE1_FT: [u64; 4] = [5, 10, 27, 3_837];
const TABLE1_ITS: [u64; 4] = [7, 13, 21, 2_344];

const fn count(key: &'static str, default: &'static str, range: (u64, u64), help: &'static str) -> Parameter {
    Parameter { spec: SettingSpec { key, unit: Unit::Count, help, range }, default }
}

const fn choice(
    key: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    help: &'static str,
) -> Parameter {
    Parameter { spec: SettingSpec { key, unit: Unit::Choice(words), help, range: (0, 0) }, default }
}

const fn compute(default: &'static str, help: &'static str) -> Parameter {
    let spec = SettingSpec { key: "compute", unit: Unit::Nanoseconds, help, range: (0, 1_000_000_000_000) };
    Parameter { spec, default }
}

const fn iterations(default: &'static str) -> Parameter {
    count("iterations", default, (1, 1_000_000_000), "Steps of the program.")
}

const fn bytes(default: &'static str) -> Parameter {
    count("bytes", default, (0, 1 << 48), "Size of a message, bytes.")
}

const fn grid(key: &'static str) -> Parameter {
    count(key, "0", (0, i32::MAX as u64), "Ranks along this axis; 0 on all axes: as even as the ranks allow.")
}

const ORDER: Parameter = choice(
    "order",
    &["arrival", "reverse", "random"],
    "arrival",
    "Order in which receives are posted, against that in which their messages are sent.",
);

/// All patterns.
pub static PATTERNS: &[Pattern] = &[
    Pattern {
        name: "halo3d",
        summary: "Exchange with 6 or 26 neighbours on a periodic 3-D grid, with an all-to-all now and then.",
        least_ranks: 1,
        parameters: &[
            grid("grid_x"),
            grid("grid_y"),
            grid("grid_z"),
            choice("neighbours", &["6", "26"], "6", "Faces only, or faces, edges and corners."),
            iterations("100"),
            bytes("4096"),
            compute("10000", "Computation before each exchange."),
            count("all_to_all_every", "0", (0, 1_000_000_000), "An all-to-all after so many steps; 0: never."),
            count("all_to_all_bytes", "64", (0, 1 << 48), "Size of a message of the all-to-all, bytes."),
            ORDER,
        ],
        prepare: |plan| {
            plan.grid3()?;
            plan.check_time(plan.whole("iterations").saturating_mul(2))
        },
        run: halo3d,
    },
    Pattern {
        name: "sweep",
        summary: "Wavefronts from the four corners of a 2-D grid, in blocks: each rank waits for two neighbours.",
        least_ranks: 1,
        parameters: &[
            grid("grid_x"),
            grid("grid_y"),
            iterations("10"),
            count("blocks", "10", (1, 1_000_000), "Blocks that a wavefront is cut into."),
            bytes("1024"),
            compute("1000", "Computation per block."),
        ],
        prepare: |plan| {
            let (x, y) = plan.grid2()?;
            let steps = u64::from(x) + u64::from(y) + plan.whole("blocks");
            plan.check_time(plan.whole("iterations").saturating_mul(4).saturating_mul(steps))
        },
        run: sweep,
    },
    Pattern {
        name: "transpose",
        summary: "All-to-all in point-to-point messages: rank r sends to r+1, r+2, ...; the order of receives is a setting.",
        least_ranks: 2,
        parameters: &[iterations("1"), bytes("64"), compute("10000", "Computation before each exchange."), ORDER],
        prepare: |plan| plan.check_time(plan.whole("iterations")),
        run: transpose,
    },
    Pattern {
        name: "many_to_one",
        summary: "All other ranks send to rank 0, which posts receives ahead, for named sources or any.",
        least_ranks: 2,
        parameters: &[
            count("messages", "100", (1, 1_000_000_000), "Messages of each sender."),
            bytes("64"),
            compute("10000", "Computation of a sender before each message."),
            count("ahead", "0", (0, u32::MAX as u64), "Receives posted at a time; 0: one for each sender."),
            choice("source", &["named", "any"], "named", "Whether receives name their source."),
            ORDER,
        ],
        prepare: |plan| {
            let turns = u64::from(plan.ranks - 1).div_ceil(plan.ahead()) * TURN_NS;
            let compute = plan.ns("compute");
            if compute < turns {
                let reason = format!("compute is {compute} ns, expected at least {turns} for this many receives");
                return Err(SettingError::Contradiction(reason));
            }
            plan.check_time(plan.whole("messages"))
        },
        run: many_to_one,
    },
    Pattern {
        name: "random",
        summary: "Each rank sends to a few random ranks and receives from as many, in random order.",
        least_ranks: 1,
        parameters: &[
            iterations("100"),
            count("degree", "8", (1, 1_000_000), "Messages that a rank sends in a step."),
            count("bytes_min", "8", (0, 1 << 48), "Smallest message, bytes."),
            count("bytes_max", "4096", (0, 1 << 48), "Largest message, bytes."),
            compute("10000", "Computation before each step."),
        ],
        prepare: |plan| {
            let (least, most) = (plan.whole("bytes_min"), plan.whole("bytes_max"));
            if least > most {
                let reason = format!("bytes_min is {least}, expected at most bytes_max, {most}");
                return Err(SettingError::Contradiction(reason));
            }
            plan.check_time(plan.whole("iterations"))
        },
        run: random,
    },
    Pattern {
        name: "depth",
        summary: "Pairs of ranks: a message whose search visits a set number of entries, posted or unexpected, and a reply.",
        least_ranks: 2,
        parameters: &[
            choice("queue", &["posted", "unexpected"], "posted", "Which list is searched."),
            count("depth", "64", (0, 1_000_000), "Other entries in the list."),
            count("position", "100", (0, 100), "Share of them that stand before the entry sought, percent."),
            iterations("100"),
            bytes("8"),
            compute("10000", "Computation before each step."),
        ],
        prepare: |plan| plan.check_time(plan.whole("iterations")),
        run: depth,
    },
    Pattern {
        name: "tanabe2013_table1",
        summary: "Unexpected messages searched as deep, on average, as Tanabe and Ohta's Table 1 quotes for FT and ITS; half are unexpected.",
        least_ranks: 2,
        parameters: &[
            choice("application", &["ft", "its"], "ft", "Row of the table."),
            iterations("10"),
            bytes("64"),
            compute("10000", "Computation before each step."),
        ],
        prepare: |plan| plan.check_time(plan.whole("iterations")),
        run: tanabe2013_table1,
    },
    Pattern {
        name: "xiong2018_depths",
        summary: "Both lists as long as Xiong et al. quotes from proxy applications: below 128 in 50 %, below 512 in 75 % of the steps.",
        least_ranks: 2,
        parameters: &[
            iterations("40"),
            count("depth_max", "4096", (513, 1_000_000), "Longest list; the quoted text says a few thousand or more."),
            count("sources", "16", (1, 1_000_000), "Ranks that a rank hears from in a step."),
            bytes("64"),
            compute("10000", "Computation before each step."),
            choice("order", &["arrival", "reverse", "random"], "random", "Order of receives against that of messages."),
        ],
        prepare: |plan| plan.check_time(plan.whole("iterations")),
        run: xiong2018_depths,
    },
];

/// A message as one side sees it: peer, tag, bytes.
type Message = (u32, i32, u64);

fn receive(program: &mut Program, (peer, tag, bytes): Message) -> Request {
    program.irecv(0, peer as i32, tag, bytes)
}

fn send(program: &mut Program, (peer, tag, bytes): Message) -> Request {
    program.isend(0, peer as i32, tag, bytes)
}

/// Posts the receives, starts the sends, waits for all.
fn exchange(program: &mut Program, receives: &[Message], sends: &[Message]) {
    let mut requests: Vec<Request> = receives.iter().map(|&message| receive(program, message)).collect();
    requests.extend(sends.iter().map(|&message| send(program, message)));
    program.wait(&requests);
}

/// A barrier, after which all ranks are later than they were before.
fn barrier(program: &mut Program) {
    program.collective(CollectiveOp::Barrier, 0, -1, 0, 0, &[]);
    program.idle(TURN_NS);
}

/// Divides `ranks` into `N` factors, as near to each other as they come, largest first.
fn even_grid<const N: usize>(ranks: u32) -> [u32; N] {
    let mut grid = [1; N];
    let mut left = ranks;
    for (axis, side) in grid.iter_mut().enumerate() {
        // The smallest divisor that is not below the root over the axes that are left.
        let axes = (N - axis) as u32;
        let enough = |side: u32| u128::from(side).pow(axes) >= u128::from(left);
        *side = divisors(left).find(|&side| enough(side)).unwrap_or(left);
        left /= *side;
    }
    grid.sort_unstable_by(|a, b| b.cmp(a));
    grid
}

/// Divisors of `number` in increasing order.
fn divisors(number: u32) -> impl Iterator<Item = u32> {
    let root = number.isqrt();
    let small = (1..=root).filter(move |side| number.is_multiple_of(*side));
    let large = (1..=root).rev().filter(move |side| number.is_multiple_of(*side)).map(move |side| number / side);
    small.chain(large)
}

impl Plan {
    fn grid<const N: usize>(&self, keys: [&str; N]) -> Result<[u32; N], SettingError> {
        let given = keys.map(|key| self.whole(key));
        if given == [0; N] {
            return Ok(even_grid(self.ranks));
        }
        let ranks = given.iter().fold(1_u64, |product, &side| product.saturating_mul(side));
        if ranks != u64::from(self.ranks) {
            let text = given.map(|side| side.to_string()).join(" x ");
            let reason = format!("the grid {text} has {ranks} ranks, expected {}", self.ranks);
            return Err(SettingError::Contradiction(reason));
        }
        Ok(given.map(|side| side as u32))
    }

    fn grid3(&self) -> Result<[u32; 3], SettingError> {
        self.grid(["grid_x", "grid_y", "grid_z"])
    }

    fn grid2(&self) -> Result<(u32, u32), SettingError> {
        self.grid(["grid_x", "grid_y"]).map(|[x, y]| (x, y))
    }

    /// Receives that the root of `many_to_one` posts at a time.
    fn ahead(&self) -> u64 {
        match self.whole("ahead") {
            0 => u64::from(self.ranks - 1),
            ahead => ahead,
        }
    }

    /// Puts receives, given in the order in which their messages are sent, into the order asked for.
    fn ordered(&self, receives: &mut [Message], path: &[u64]) {
        match self.word("order") {
            "reverse" => receives.reverse(),
            "random" => Random::of(self.seed, path).shuffle(receives),
            _ => {}
        }
    }

    fn all_to_all(&self, program: &mut Program, step: u64, bytes: u64) {
        let (rank, ranks) = (program.rank(), self.ranks);
        // Every rank sends to r + 1 first: the first that it hears from is r - 1.
        let mut receives: Vec<Message> =
            (1..ranks).map(|k| ((rank + (ranks - k)) % ranks, TRANSPOSE_TAG, bytes)).collect();
        self.ordered(&mut receives, &[u64::from(rank), step]);
        let sends: Vec<Message> = (1..ranks)
            .map(|k| (((u64::from(rank) + u64::from(k)) % u64::from(ranks)) as u32, TRANSPOSE_TAG, bytes))
            .collect();
        exchange(program, &receives, &sends);
    }
}

fn halo3d(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let [size_x, size_y, size_z] = plan.grid3().expect("prepared").map(i64::from);
    let rank = i64::from(output.program.rank());
    let at = [rank % size_x, rank / size_x % size_y, rank / (size_x * size_y)];
    let neighbour = |step: [i64; 3]| {
        let [x, y, z] = std::array::from_fn(|axis| (at[axis] + step[axis]).rem_euclid([size_x, size_y, size_z][axis]));
        (x + size_x * (y + size_y * z)) as u32
    };
    // Opposite directions stand beside each other, so that direction ^ 1 is where a message of `direction` comes from.
    let mut steps: Vec<[i64; 3]> = Vec::new();
    if plan.word("neighbours") == "6" {
        steps.extend([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]);
    } else {
        for code in 14..27 {
            let step = [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1];
            steps.extend([step, step.map(|distance| -distance)]);
        }
    }
    let bytes = plan.whole("bytes");
    let to: Vec<u32> = steps.iter().map(|&step| neighbour(step)).collect();
    let sends: Vec<Message> = (0..to.len()).map(|direction| (to[direction], direction as i32, bytes)).collect();
    let receives: Vec<Message> = (0..to.len()).map(|direction| (to[direction ^ 1], direction as i32, bytes)).collect();
    let every = plan.whole("all_to_all_every");
    for step in 0..plan.whole("iterations") {
        output.program.compute(plan.ns("compute"));
        exchange(&mut output.program, &receives, &sends);
        if every > 0 && (step + 1).is_multiple_of(every) && plan.ranks > 1 {
            output.program.compute(plan.ns("compute"));
            plan.all_to_all(&mut output.program, step, plan.whole("all_to_all_bytes"));
        }
        output.pause()?;
    }
    Ok(())
}

fn transpose(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    for step in 0..plan.whole("iterations") {
        output.program.compute(plan.ns("compute"));
        plan.all_to_all(&mut output.program, step, plan.whole("bytes"));
        output.pause()?;
    }
    Ok(())
}

fn sweep(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let (size_x, size_y) = plan.grid2().expect("prepared");
    let rank = output.program.rank();
    let (x, y) = (rank % size_x, rank / size_x);
    let (blocks, bytes, compute) = (plan.whole("blocks"), plan.whole("bytes"), plan.ns("compute"));
    let length = u64::from(size_x - 1) + u64::from(size_y - 1) + blocks;
    let mut begin = 0;
    for _ in 0..plan.whole("iterations") {
        for corner in 0..4 {
            // Neighbours against and along the direction of the wavefront, if there are any.
            let side = |at: u32, size: u32, forward: bool, stride: u32| {
                let (low, high) = ((at > 0).then(|| rank - stride), (at + 1 < size).then(|| rank + stride));
                if forward { (low, high) } else { (high, low) }
            };
            let (from_x, to_x) = side(x, size_x, corner & 1 == 0, 1);
            let (from_y, to_y) = side(y, size_y, corner & 2 == 0, size_x);
            let distance_x = if corner & 1 == 0 { x } else { size_x - 1 - x };
            let distance_y = if corner & 2 == 0 { y } else { size_y - 1 - y };
            let peer = |rank: Option<u32>| rank.map_or(PROC_NULL, |rank| rank as i32);
            for block in 0..blocks {
                let program = &mut output.program;
                let due = begin + (u64::from(distance_x) + u64::from(distance_y) + block) * (compute + TURN_NS);
                for (axis, from) in [peer(from_x), peer(from_y)].into_iter().enumerate() {
                    let tag = corner * 2 + axis as i32;
                    if from != PROC_NULL {
                        program.recv(0, from, tag, bytes, Status { source: from, tag, bytes });
                    }
                }
                program.idle(due.saturating_sub(program.wall_ns()));
                program.compute(compute);
                for (axis, to) in [peer(to_x), peer(to_y)].into_iter().enumerate() {
                    if to != PROC_NULL {
                        program.send(0, to, corner * 2 + axis as i32, bytes);
                    }
                }
                output.pause()?;
            }
            begin += length * (compute + TURN_NS);
        }
    }
    Ok(())
}

fn many_to_one(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    const TAG: i32 = 0;
    let (bytes, compute) = (plan.whole("bytes"), plan.ns("compute"));
    let program = &mut output.program;
    if program.rank() != 0 {
        for _ in 0..plan.whole("messages") {
            output.program.compute(compute);
            output.program.send(0, 0, TAG, bytes);
            output.pause()?;
        }
        return Ok(());
    }
    let any = plan.word("source") == "any";
    // In a round each sender's message arrives, in order of rank.
    let senders: Vec<Message> = (1..plan.ranks).map(|sender| (sender, TAG, bytes)).collect();
    for round in 0..plan.whole("messages") {
        for (turn, due) in senders.chunks(plan.ahead() as usize).enumerate() {
            let mut posted = due.to_vec();
            let program = &mut output.program;
            let requests: Vec<Request> = if any {
                due.iter()
                    .map(|&(sender, tag, bytes)| {
                        program.irecv(0, ANY_SOURCE, tag, bytes).from(sender as i32, tag, bytes)
                    })
                    .collect()
            } else {
                plan.ordered(&mut posted, &[round, turn as u64]);
                posted.iter().map(|&message| receive(program, message)).collect()
            };
            if turn == 0 {
                // The senders are busy until now.
                program.idle(((round + 1) * compute).saturating_sub(program.wall_ns()));
            }
            program.wait(&requests);
            program.idle(TURN_NS);
            output.pause()?;
        }
    }
    Ok(())
}

/// A random one-to-one map of `ranks` ranks: `rank -> factor * rank + offset`.
struct Affine {
    factor: u64,
    offset: u64,
    ranks: u64,
}

impl Affine {
    fn new(ranks: u32, random: &mut Random) -> Self {
        let ranks = u64::from(ranks);
        let coprime = |a: u64| {
            let (mut a, mut b) = (a, ranks);
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a == 1
        };
        let mut factor = 1 + random.below(ranks);
        while !coprime(factor) {
            factor = 1 + random.below(ranks);
        }
        Self { factor, offset: random.below(ranks), ranks }
    }

    fn to(&self, rank: u32) -> u32 {
        ((u64::from(rank) * self.factor + self.offset) % self.ranks) as u32
    }

    /// Whose image `rank` is.
    fn from(&self, rank: u32) -> u32 {
        // Inverse of the factor by Euclid's algorithm.
        let (mut old, mut new, mut old_x, mut new_x) = (self.factor as i64, self.ranks as i64, 1_i64, 0_i64);
        while new != 0 {
            let quotient = old / new;
            (old, new) = (new, old - quotient * new);
            (old_x, new_x) = (new_x, old_x - quotient * new_x);
        }
        let inverse = old_x.rem_euclid(self.ranks as i64) as u64;
        let distance = (u64::from(rank) + self.ranks - self.offset) % self.ranks;
        (distance * inverse % self.ranks) as u32
    }
}

fn random(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let rank = output.program.rank();
    let size = |step: u64, sender: u32, tag: u64| {
        Random::of(plan.seed, &[1, step, u64::from(sender), tag])
            .within(plan.whole("bytes_min"), plan.whole("bytes_max"))
    };
    for step in 0..plan.whole("iterations") {
        let (mut receives, mut sends): (Vec<Message>, Vec<Message>) = (Vec::new(), Vec::new());
        for tag in 0..plan.whole("degree") {
            let map = Affine::new(plan.ranks, &mut Random::of(plan.seed, &[0, step, tag]));
            sends.push((map.to(rank), tag as i32, size(step, rank, tag)));
            let sender = map.from(rank);
            receives.push((sender, tag as i32, size(step, sender, tag)));
        }
        let mut order = Random::of(plan.seed, &[2, step, u64::from(rank)]);
        order.shuffle(&mut receives);
        order.shuffle(&mut sends);
        output.program.compute(plan.ns("compute"));
        exchange(&mut output.program, &receives, &sends);
        output.pause()?;
    }
    Ok(())
}

fn depth(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    const SOUGHT: i32 = 0;
    const TURN: i32 = 1;
    const REPLY: i32 = 2;
    const OTHERS: i32 = 3;
    let rank = output.program.rank();
    let peer = rank ^ 1;
    if peer >= plan.ranks {
        return Ok(());
    }
    let bytes = plan.whole("bytes");
    let others: Vec<Message> = (0..plan.whole("depth")).map(|other| (peer, OTHERS + other as i32, bytes)).collect();
    let before = others.len() * plan.whole("position") as usize / 100;
    let list = [&others[..before], &[(peer, SOUGHT, bytes)], &others[before..]].concat();
    let send = |program: &mut Program, tag: i32, bytes: u64| program.send(0, peer as i32, tag, bytes);
    let recv = |program: &mut Program, tag: i32, bytes: u64| {
        program.recv(0, peer as i32, tag, bytes, Status { source: peer as i32, tag, bytes });
    };
    for _ in 0..plan.whole("iterations") {
        let program = &mut output.program;
        program.compute(plan.ns("compute"));
        match (plan.word("queue"), rank % 2) {
            // The sender waits until the list stands, sends the message sought, and after the reply the others.
            ("posted", 0) => {
                recv(program, TURN, 0);
                program.idle(TURN_NS);
                send(program, SOUGHT, bytes);
                recv(program, REPLY, 0);
                program.idle(3 * TURN_NS);
                for &(_, tag, bytes) in &others {
                    send(program, tag, bytes);
                }
                program.idle(TURN_NS);
            }
            ("posted", _) => {
                let requests: Vec<Request> = list.iter().map(|&message| receive(program, message)).collect();
                send(program, TURN, 0);
                program.idle(2 * TURN_NS);
                program.wait(&requests[before..=before]);
                send(program, REPLY, 0);
                program.idle(3 * TURN_NS);
                program.wait(&[&requests[..before], &requests[before + 1..]].concat());
            }
            // The sender fills the list and says so.
            (_, 0) => {
                program.idle(TURN_NS);
                for &(_, tag, bytes) in &list {
                    send(program, tag, bytes);
                }
                send(program, TURN, 0);
                recv(program, REPLY, 0);
                program.idle(4 * TURN_NS);
            }
            (_, _) => {
                recv(program, TURN, 0);
                program.idle(3 * TURN_NS);
                recv(program, SOUGHT, bytes);
                send(program, REPLY, 0);
                for &(_, tag, bytes) in &others {
                    recv(program, tag, bytes);
                }
                program.idle(2 * TURN_NS);
            }
        }
        output.pause()?;
    }
    Ok(())
}

/// One step in which each rank hears `depth` messages from `sources` ranks: first unexpected ones, then as many
/// expected ones. `arrange` puts the receives of the unexpected ones (0) and the expected ones (1) into their order.
fn both_lists(plan: &Plan, program: &mut Program, depth: u64, sources: u64, arrange: impl Fn(u64, &mut [Message])) {
    let (rank, ranks) = (u64::from(program.rank()), u64::from(plan.ranks));
    let bytes = plan.whole("bytes");
    let sources = sources.min(ranks - 1);
    let message = |peer: u64, at: u64| ((peer % ranks) as u32, (at / sources) as i32, bytes);
    let sends: Vec<Message> = (0..depth).map(|at| message(rank + 1 + at % sources, at)).collect();
    let arriving: Vec<Message> = (0..depth).map(|at| message(rank + ranks - 1 - at % sources, at)).collect();
    for expected in [0, 1] {
        let mut receives = arriving.clone();
        arrange(expected, &mut receives);
        let mut requests = Vec::new();
        if expected == 1 {
            requests.extend(receives.iter().map(|&message| receive(program, message)));
            barrier(program);
        }
        requests.extend(sends.iter().map(|&message| send(program, message)));
        if expected == 0 {
            barrier(program);
            requests.extend(receives.iter().map(|&message| receive(program, message)));
        }
        program.idle(TURN_NS);
        program.wait(&requests);
    }
}

/// Average search depth of the table for this many ranks: its columns, and straight lines between and beyond them.
fn table1_depth(row: [u64; 4], ranks: u64) -> f64 {
    let column = TABLE1_RANKS.partition_point(|&at| at <= ranks).clamp(1, 3);
    let [(x0, y0), (x1, y1)] = [column - 1, column].map(|at| (TABLE1_RANKS[at] as f64, row[at] as f64));
    // Below the table the line goes to depth 0 at 0 ranks.
    let (x0, y0, x1, y1) = if ranks < TABLE1_RANKS[0] { (0.0, 0.0, x0, y0) } else { (x0, y0, x1, y1) };
    y0 + (ranks as f64 - x0) / (x1 - x0) * (y1 - y0)
}

fn tanabe2013_table1(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let row = if plan.word("application") == "ft" { TABLE1_FT } else { TABLE1_ITS };
    // A list of n messages taken from the back is searched n, n - 1, ..., 1 deep: (n + 1) / 2 on average.
    let length = (2.0 * table1_depth(row, u64::from(plan.ranks)) - 1.0).round().max(1.0) as u64;
    for _ in 0..plan.whole("iterations") {
        output.program.compute(plan.ns("compute"));
        both_lists(plan, &mut output.program, length, u64::MAX, |expected, receives| {
            if expected == 0 {
                receives.reverse();
            }
        });
        output.pause()?;
    }
    Ok(())
}

/// A list length as Xiong et al. quotes Klenk and Fröning (papers/002, section II.B): below 128 in half of all points, below 512 in three
/// quarters, in the others up to a few thousand. Within the first two classes evenly, above them evenly in the logarithm
/// (assumed: the text gives no more than the quartiles and the order of the longest).
fn xiong2018_length(random: &mut Random, longest: u64) -> u64 {
    match random.below(4) {
        0 | 1 => random.within(1, 127),
        2 => random.within(128, 511),
        _ => {
            let doublings = (longest / 512).max(1).ilog2();
            let low = 512 << random.below(u64::from(doublings) + 1);
            random.within(low, (2 * low - 1).min(longest))
        }
    }
}

fn xiong2018_depths(plan: &Plan, output: &mut RankOutput<'_>) -> Result<(), TraceError> {
    let rank = u64::from(output.program.rank());
    for step in 0..plan.whole("iterations") {
        let length = xiong2018_length(&mut Random::of(plan.seed, &[step]), plan.whole("depth_max"));
        output.program.compute(plan.ns("compute"));
        both_lists(plan, &mut output.program, length, plan.whole("sources"), |expected, receives| {
            plan.ordered(receives, &[rank, step, expected]);
        });
        output.pause()?;
    }
    Ok(())
}
