// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where Crowley et al. contradicts itself.

use mb_netproc::contract::{Application, Classifier, ClassifyIn};
use mb_packets::{Mix, Sizes};

use super::arithmetic::{measured_mean, printed, printed_mean};
use super::classification::overhead;
use super::experiment::{Assumptions, PaperChip, Work};
use super::extremes::mega;
use super::model::Model;
use super::scenarios::{MIXES, ratio};
use crate::claim_test::Procedure;
use crate::contradictions::{Contradiction, both};
use crate::error::MeasureError;
use crate::ledger::{self, LEDGER, LEDGER_NAME};

pub(super) const CONTRADICTIONS: &[Contradiction<Model>] = &[
    Contradiction {
        number: 24,
        place: "section 3.4",
        says: [
            "the SMT with 8 units needs less than 300 cycles for a packet",
            "this is about 1.6e6 packets/s: 312.5 cycles",
        ],
        procedure: Procedure::Measure(|model| {
            let rate = model.null(PaperChip::Smt(8))?;
            both(("cycles", format!("{:.0} cycles", model.assumptions.mhz as f64 * 1e6 / rate)), ("rate", mega(rate)))
        }),
        counts: "both, each as its own claim: crowley2000.null.smt_cycles and crowley2000.null.smt_pps",
    },
    Contradiction {
        number: 25,
        place: "section 3.4",
        says: [
            "on 3DES the SMT leads CMP by 20 to 25 % and CMP2 by twice this, at equal units",
            "SMT with N units is as fast as CMP with N+1 and CMP2 with N+2: 33 % and 100 % at 4 units, 14 % and 33 % at 8",
        ],
        procedure: Procedure::Measure(|model| {
            let lead = |units: usize, chip| {
                Ok::<_, MeasureError>(100.0 * (model.des3(PaperChip::Smt(units))? / model.des3(chip)? - 1.0))
            };
            both(
                (
                    "leads",
                    format!(
                        "CMP {:.0}, {:.0}, {:.0} % and CMP2 {:.0}, {:.0}, {:.0} % at 4, 6, 8 units",
                        lead(4, PaperChip::Cmp(4))?,
                        lead(6, PaperChip::Cmp(6))?,
                        lead(8, PaperChip::Cmp(8))?,
                        lead(4, PaperChip::Cmp2(2))?,
                        lead(6, PaperChip::Cmp2(3))?,
                        lead(8, PaperChip::Cmp2(4))?
                    ),
                ),
                (
                    "shifted by the units of the OS",
                    format!(
                        "CMP(N+1) {:.0}, {:.0} % and CMP2(N+2) {:.0}, {:.0} % at N = 4, 6",
                        lead(4, PaperChip::Cmp(5))?,
                        lead(6, PaperChip::Cmp(7))?,
                        lead(4, PaperChip::Cmp2(3))?,
                        lead(6, PaperChip::Cmp2(4))?
                    ),
                ),
            )
        }),
        counts: "both, each as its own claim; of the first the leads with eight units count (crowley2000.des3.smt_over_cmp, \
                 crowley2000.des3.smt_over_cmp2)",
    },
    Contradiction {
        number: 26,
        place: "section 5.1; tables 2 and 6",
        says: [
            "the IP router is a light load, the web switch a medium and the VPN node a heavy one",
            "a packet takes 3568 instructions in the router and 1970 in the web switch",
        ],
        procedure: Procedure::Measure(|model| {
            let [router, web, vpn] = MIXES.map(|mix| measured_mean(model, mix, Sizes::Imix));
            both(
                ("on the models", format!("{:.0}, {:.0}, {:.0} instructions for a packet", router?, web?, vpn?)),
                (
                    "arithmetic on printed numbers",
                    format!(
                        "{:.0}, {:.0}, {:.0} instructions for a packet",
                        printed_mean("router")?,
                        printed_mean("web")?,
                        printed_mean("vpn")?
                    ),
                ),
            )
        }),
        counts: "the second: the share of 3DES decides, and the router's is larger than the web switch's \
                 (crowley2000.scen.order_load)",
    },
    Contradiction {
        number: 27,
        place: "section 5.2.3; tables 2 and 6",
        says: [
            "the VPN node's rate is an order of magnitude below the other scenarios'",
            "its packets take 3.4 times the instructions of the router's and 6.2 times the web switch's",
        ],
        procedure: Procedure::Measure(|model| {
            let over = |mix| {
                let of = |mix| model.scenario(PaperChip::Smt(8), mix, Sizes::Imix);
                Ok::<_, MeasureError>(of(mix)? / of(Mix::Vpn)?)
            };
            let by_tables = |scenario| Ok::<_, MeasureError>(printed_mean("vpn")? / printed_mean(scenario)?);
            both(
                (
                    "rates of the SMT",
                    format!("router {:.1}, web switch {:.1} times", over(Mix::Router)?, over(Mix::WebSwitch)?),
                ),
                (
                    "arithmetic on printed numbers",
                    format!("router {:.1}, web switch {:.1} times", by_tables("router")?, by_tables("web")?),
                ),
            )
        }),
        counts: "the first, as a claim (crowley2000.vpn.order_of_magnitude); the second is arithmetic",
    },
    Contradiction {
        number: 28,
        place: "section 5.3; 5.2.2",
        says: [
            "CMP2-8 is on par with the SMT or better",
            "on the web switch CMP2-8 gains 3 % on CMP2 and the SMT leads CMP2 by 10 %",
        ],
        procedure: Procedure::Measure(|model| {
            let of = |mix| ratio(model, PaperChip::Cmp2(8), PaperChip::Smt(8), mix, Sizes::Imix);
            let (router, web, vpn) = (of(Mix::Router)?, of(Mix::WebSwitch)?, of(Mix::Vpn)?);
            let printed = (1.0 + printed("crowley2000.cmp28.web")?) / (1.0 + printed("crowley2000.web.smt_over_cmp2")?);
            both(
                ("CMP2-8 over SMT", format!("router {router:.2}, web switch {web:.2}, VPN node {vpn:.2}")),
                ("arithmetic on printed numbers", format!("web switch {printed:.2}")),
            )
        }),
        counts: "both, each as its own claim: crowley2000.cmp28.par_with_smt, crowley2000.cmp28.web and \
                 crowley2000.web.smt_over_cmp2",
    },
    Contradiction {
        number: 29,
        place: "section 5.1; table 6",
        says: ["each application is used in each scenario", "the VPN node sends no packet to HTTPMON"],
        procedure: Procedure::Measure(|model| {
            let packets = |mix| {
                let work = Work::Scenario(mix, Sizes::Imix);
                let report = model.report(PaperChip::Cmp(8), work, Classifier::Dpf)?;
                let of = |app| report.applications.get(&Some(app)).copied().unwrap_or(0);
                Ok::<_, MeasureError>(Application::PAPER.map(|app| of(app).to_string()).join(", "))
            };
            both(
                ("router", format!("packets of each application: {}", packets(Mix::Router)?)),
                ("VPN node", format!("packets of each application: {}", packets(Mix::Vpn)?)),
            )
        }),
        counts: "the second: generated traffic has the shares of table 6",
    },
    Contradiction {
        number: 30,
        place: "table 4; section 3.3",
        says: ["the SMT has 32 architectural and 100 physical registers", "it has eight contexts, which hold 256"],
        procedure: Procedure::Measure(|model| {
            let rate = |percent| {
                let model = model.with(Assumptions { rename_percent: percent, ..model.assumptions });
                Ok::<_, MeasureError>(mega(model.null(PaperChip::Smt(8))?))
            };
            both(
                ("100 registers beyond the architectural ones", format!("{} on the null application", rate(100)?)),
                ("half of them", format!("{} on the null application", rate(50)?)),
            )
        }),
        counts: "neither as printed, since 100 registers do not hold eight contexts: 256 architectural registers and 100 for \
                 renaming count",
    },
    Contradiction {
        number: 31,
        place: "table 5; section 3.4",
        says: [
            "classification in the workers costs CMP 8.8 % of its peak rate",
            "the OS thread limits the null application, and workers wait",
        ],
        procedure: Procedure::Measure(|model| {
            let os = model.with(Assumptions { classify_in: ClassifyIn::Os, ..model.assumptions });
            both(
                ("classified in the worker", format!("{:.1} %", overhead(model, PaperChip::Cmp(8))?)),
                ("classified in the OS thread", format!("{:.1} %", overhead(&os, PaperChip::Cmp(8))?)),
            )
        }),
        counts: "the first, in which section 4.1 has it (crowley2000.t5.cmp)",
    },
    Contradiction {
        number: 32,
        place: "section 3.4; table 2",
        says: ["table 1 says that 3DES executes a large number of instructions", "table 2 has the numbers"],
        procedure: Procedure::Shown(
            |_| {
                let claims = ledger::read(LEDGER_NAME, LEDGER).map_err(|_| MeasureError::NotSeen("the ledger"))?;
                let tasks = claims.iter().filter(|claim| claim.id.starts_with("crowley2000.t1.")).count();
                let printed = printed("crowley2000.t2.des3_insts")?;
                both(
                    ("table 1", format!("{tasks} tasks without a number")),
                    ("table 2", format!("{printed} instructions")),
                )
            },
            "a reference to the wrong table",
        ),
        counts: "the second: a slip of the pen",
    },
];
