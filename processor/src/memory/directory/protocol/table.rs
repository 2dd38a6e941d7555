// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables of transitions. A row is for all pairs of its states and events; an empty next state
//! is the state before. What no row names is impossible.

use super::words::CacheAction as A;
use super::words::CacheEvent::{
    self, AckLast, AckMore, BlankAll, BlankMore, Clean, CopyData, Data, DataAll, DataMore, DeviceBlank, DeviceCopy,
    DeviceGetS, DeviceGetX, DeviceRelease, DeviceWrite, Exclusive, FwdCopy, FwdGetS, FwdGetX, GrantAll, GrantMore, Inv,
    Modified, PutAck, Read, Replace, Write,
};
use super::words::CacheState::{self, D, E, EI, I, ID, II, IM, IS, M, MA, MI, O, OI, OM, S, SM};
use super::words::{DeviceTransactions, DirectoryAction, DirectoryEvent, DirectoryState};

/// The configurations that a row belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RowCondition {
    Always,
    Migratory,
    NotMigratory,
    /// Devices can copy a line without a change of states.
    Copies,
    /// Devices can own a line without its data.
    Blanks,
}

impl RowCondition {
    pub(super) fn holds(self, design: DeviceTransactions, migratory: bool) -> bool {
        match self {
            Self::Always => true,
            Self::Migratory => migratory,
            Self::NotMigratory => !migratory,
            Self::Copies => design != DeviceTransactions::Base,
            Self::Blanks => design == DeviceTransactions::OptCache,
        }
    }
}

/// A row of a table.
pub(super) struct Row<S: 'static, E: 'static, A: 'static> {
    pub(super) when: RowCondition,
    states: &'static [S],
    events: &'static [E],
    pub(super) actions: &'static [A],
    pub(super) next: Option<S>,
}

impl<S, E, A> Row<S, E, A> {
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&S, &E)> {
        self.states.iter().flat_map(|state| self.events.iter().map(move |event| (state, event)))
    }
}

const fn row<S: Copy, E, A>(
    when: RowCondition,
    states: &'static [S],
    events: &'static [E],
    actions: &'static [A],
    next: &'static [S],
) -> Row<S, E, A> {
    Row { when, states, events, actions, next: if next.is_empty() { None } else { Some(next[0]) } }
}

use RowCondition::{Always, Blanks, Copies, Migratory, NotMigratory};

/// The cache controller.
#[rustfmt::skip]
pub(super) const CACHE: &[Row<CacheState, CacheEvent, A>] = &[
    // The core.
    row(Always, &[I],                      &[Read],                      &[A::SendGetS],                   &[IS]),
    row(Always, &[I],                      &[Write],                     &[A::SendGetX],                   &[IM]),
    row(Always, &[S, E, O, M, SM, OM],     &[Read],                      &[A::Hit],                        &[]),
    row(Always, &[S],                      &[Write],                     &[A::SendUpgrade],                &[SM]),
    row(Always, &[O],                      &[Write],                     &[A::SendUpgrade],                &[OM]),
    row(Always, &[E, M],                   &[Write],                     &[A::Hit],                        &[M]),
    row(Always, &[D],                      &[Read, Write],               &[A::Revoke, A::Hit],             &[M]),
    row(Always, &[IS, IM, MA, ID, MI, OI, EI, II], &[Read, Write],       &[A::Stall],                      &[]),
    row(Always, &[SM, OM],                 &[Write],                     &[A::Stall],                      &[]),

    // Evictions of the L2. A copy in S leaves silently.
    row(Always, &[S],                      &[Replace],                   &[A::Drop],                       &[I]),
    row(Always, &[E],                      &[Replace],                   &[A::SendPutE],                   &[EI]),
    row(Always, &[O],                      &[Replace],                   &[A::SendPutO],                   &[OI]),
    row(Always, &[M],                      &[Replace],                   &[A::SendPutM],                   &[MI]),

    // The device.
    row(Always, &[I],                      &[DeviceGetS],                &[A::SendGetS],                   &[ID]),
    row(Copies, &[I],                      &[DeviceCopy],                &[A::SendCopy],                   &[ID]),
    row(Always, &[S, E, O, M, D],          &[DeviceGetS],                &[A::GiveCopy],                   &[]),
    row(Copies, &[S, E, O, M, D],          &[DeviceCopy],                &[A::GiveCopy],                   &[]),
    row(Always, &[I],                      &[DeviceGetX],                &[A::SendGetX],                   &[IM]),
    row(Blanks, &[I],                      &[DeviceBlank],               &[A::SendBlank],                  &[IM]),
    row(Always, &[S],                      &[DeviceGetX],                &[A::SendUpgrade],                &[SM]),
    row(Blanks, &[S],                      &[DeviceBlank],               &[A::SendUpgrade],                &[SM]),
    row(Always, &[O],                      &[DeviceGetX],                &[A::SendUpgrade],                &[OM]),
    row(Blanks, &[O],                      &[DeviceBlank],               &[A::SendUpgrade],                &[OM]),
    row(Always, &[E, M, D],                &[DeviceGetX],                &[A::GiveLine],                   &[D]),
    row(Blanks, &[E, M, D],                &[DeviceBlank],               &[A::GiveLine],                   &[D]),
    row(Always, &[D],                      &[DeviceWrite],               &[A::TakeBytes],                  &[M]),
    row(Always, &[D],                      &[DeviceRelease],             &[A::TakeBack],                   &[M]),
    row(Always, &[I, S, E, O, M],          &[DeviceWrite, DeviceRelease], &[A::Refuse],                    &[]),
    row(Always, &[IS, IM, SM, OM, MA, ID, MI, OI, EI, II],
                                           &[DeviceGetS, DeviceGetX, DeviceWrite, DeviceRelease],
                                                                         &[A::Stall],                      &[]),
    row(Copies, &[IS, IM, SM, OM, MA, ID, MI, OI, EI, II], &[DeviceCopy],  &[A::Stall],                    &[]),
    row(Blanks, &[IS, IM, SM, OM, MA, ID, MI, OI, EI, II], &[DeviceBlank], &[A::Stall],                    &[]),

    // Another node reads.
    row(Always, &[E],                      &[FwdGetS],                   &[A::SendClean],                  &[S]),
    row(Always, &[O, OM, OI],              &[FwdGetS],                   &[A::SendData],                   &[]),
    row(NotMigratory, &[M],                &[FwdGetS],                   &[A::SendData],                   &[O]),
    row(Migratory,    &[M],                &[FwdGetS],                   &[A::SendModified, A::Drop],      &[I]),
    row(Always, &[D],                      &[FwdGetS],                   &[A::Revoke, A::SendModified, A::Drop], &[I]),
    row(NotMigratory, &[MI],               &[FwdGetS],                   &[A::SendData],                   &[OI]),
    row(Migratory,    &[MI],               &[FwdGetS],                   &[A::SendModified, A::Drop],      &[II]),
    row(Always, &[EI],                     &[FwdGetS],                   &[A::SendClean, A::Drop],         &[II]),

    // Another node gets the exclusive right.
    row(Always, &[E, O, M],                &[FwdGetX],                   &[A::SendDataX, A::Drop],         &[I]),
    row(Always, &[D],                      &[FwdGetX],                   &[A::Revoke, A::SendDataX, A::Drop], &[I]),
    row(Always, &[OM],                     &[FwdGetX],                   &[A::SendDataX, A::Drop],         &[IM]),
    row(Always, &[MI, OI, EI],             &[FwdGetX],                   &[A::SendDataX, A::Drop],         &[II]),
    // The directory may list a node that has evicted its copy.
    row(Always, &[I, IS, IM, ID, II],      &[Inv],                       &[A::SendAck],                    &[]),
    row(Always, &[S],                      &[Inv],                       &[A::SendAck, A::Drop],           &[I]),
    row(Always, &[SM],                     &[Inv],                       &[A::SendAck, A::Drop],           &[IM]),
    // The owner gets Inv when a sharer upgrades, or a device gets the right without data.
    row(Always, &[O],                      &[Inv],                       &[A::SendAck, A::Drop],           &[I]),
    row(Always, &[OM],                     &[Inv],                       &[A::SendAck, A::Drop],           &[IM]),
    row(Always, &[OI],                     &[Inv],                       &[A::SendAck, A::Drop],           &[II]),
    row(Blanks, &[E, M],                   &[Inv],                       &[A::SendAck, A::Drop],           &[I]),
    row(Blanks, &[D],                      &[Inv],                       &[A::Revoke, A::SendAck, A::Drop], &[I]),
    row(Blanks, &[MI, EI],                 &[Inv],                       &[A::SendAck, A::Drop],           &[II]),

    // The device of another node copies: no state changes.
    row(Copies, &[E, O, M, D, OM, MI, OI, EI], &[FwdCopy],               &[A::SendCopyData],               &[]),

    // Answers.
    row(Always, &[IS],                     &[Data],                      &[A::Fill, A::UnblockShared, A::Restart], &[S]),
    row(Always, &[IS],                     &[Clean],                     &[A::Fill, A::UnblockClean, A::Restart], &[S]),
    row(Always, &[IS],                     &[Exclusive],                 &[A::Fill, A::UnblockExclusive, A::Restart], &[E]),
    row(Always, &[IS],                     &[Modified],                  &[A::Fill, A::UnblockExclusive, A::Restart], &[M]),
    row(Always, &[ID],                     &[Data],                      &[A::Deliver, A::UnblockShared, A::Restart], &[I]),
    row(Always, &[ID],                     &[Clean],                     &[A::Deliver, A::UnblockClean, A::Restart], &[I]),
    row(Copies, &[ID],                     &[CopyData],                  &[A::Deliver, A::SendCopyDone, A::Restart], &[I]),
    // An exclusive answer to the device is written back at once.
    row(Always, &[ID],                     &[Exclusive],                 &[A::Deliver, A::Fill, A::UnblockExclusive, A::SendPutE], &[EI]),
    row(Always, &[ID],                     &[Modified],                  &[A::Deliver, A::Fill, A::UnblockExclusive, A::SendPutM], &[MI]),
    row(Always, &[IM],                     &[DataAll],                   &[A::Fill, A::Expect, A::UnblockExclusive, A::Restart], &[M]),
    row(Always, &[IM],                     &[DataMore],                  &[A::Fill, A::Expect],            &[MA]),
    row(Blanks, &[IM],                     &[BlankAll],                  &[A::Zero, A::Expect, A::UnblockExclusive, A::Restart], &[M]),
    row(Blanks, &[IM],                     &[BlankMore],                 &[A::Zero, A::Expect],            &[MA]),
    row(Always, &[SM, OM],                 &[GrantAll],                  &[A::Expect, A::UnblockExclusive, A::Restart], &[M]),
    row(Always, &[SM, OM],                 &[GrantMore],                 &[A::Expect],                     &[MA]),
    row(Always, &[IM, SM, OM, MA],         &[AckMore],                   &[A::Count],                      &[]),
    row(Always, &[MA],                     &[AckLast],                   &[A::Count, A::UnblockExclusive, A::Restart], &[M]),
    row(Always, &[MI, OI, EI, II],         &[PutAck],                    &[A::Drop, A::Restart],           &[I]),
];

use DirectoryAction as B;
use DirectoryEvent as F;
use DirectoryState as T;

/// Events of the directory that wait while a line is busy.
const REQUESTS: &[F] = &[F::GetS, F::GetX, F::UpgradeOwner, F::UpgradeSharer, F::PutM, F::PutO, F::PutE, F::PutStale];

/// The directory.
#[rustfmt::skip]
pub(super) const DIRECTORY: &[Row<T, F, B>] = &[
    // Reads.
    row(Always, &[T::I],                   &[F::GetS],                   &[B::MemoryExclusive],            &[T::IE]),
    row(Always, &[T::S],                   &[F::GetS],                   &[B::MemoryData],                 &[T::SS]),
    row(Always, &[T::O],                   &[F::GetS],                   &[B::ForwardGetS],                &[T::OS]),
    row(Always, &[T::M],                   &[F::GetS],                   &[B::ForwardGetS],                &[T::MS]),

    // Exclusive requests.
    row(Always, &[T::I],                   &[F::GetX],                   &[B::MemoryDataX],                &[T::X]),
    row(Always, &[T::S],                   &[F::GetX],                   &[B::MemoryDataX, B::InvalidateSharers], &[T::X]),
    row(Always, &[T::O],                   &[F::GetX],                   &[B::ForwardGetX, B::InvalidateSharers], &[T::X]),
    row(Always, &[T::M],                   &[F::GetX],                   &[B::ForwardGetX],                &[T::X]),
    row(Always, &[T::O],                   &[F::UpgradeOwner],           &[B::SendGrant, B::InvalidateSharers], &[T::X]),
    row(Always, &[T::S],                   &[F::UpgradeSharer],          &[B::SendGrant, B::InvalidateSharers], &[T::X]),
    row(Always, &[T::O],                   &[F::UpgradeSharer],          &[B::SendGrant, B::InvalidateSharers, B::InvalidateOwner], &[T::X]),

    // Write-backs. A node that does not own the line has been overtaken.
    row(Always, &[T::M],                   &[F::PutM],                   &[B::WriteMemory, B::ClearOwner, B::SendPutAck], &[T::I]),
    row(Always, &[T::M],                   &[F::PutE],                   &[B::ClearOwner, B::SendPutAck],  &[T::I]),
    row(Always, &[T::O],                   &[F::PutM, F::PutO],          &[B::WriteMemory, B::ClearOwner, B::SendPutAck], &[T::S]),
    row(Always, &[T::I, T::S, T::O, T::M], &[F::PutStale],               &[B::SendPutAck],                 &[]),

    // Ends of transactions.
    row(Always, &[T::IE],                  &[F::UnblockExclusive],       &[B::SetOwner, B::Wake],          &[T::M]),
    row(Always, &[T::SS],                  &[F::UnblockShared],          &[B::AddSharer, B::Wake],         &[T::S]),
    row(Always, &[T::OS],                  &[F::UnblockShared],          &[B::AddSharer, B::Wake],         &[T::O]),
    row(Always, &[T::MS],                  &[F::UnblockShared],          &[B::AddSharer, B::Wake],         &[T::O]),
    row(Always, &[T::MS],                  &[F::UnblockClean],           &[B::ShareOwner, B::AddSharer, B::Wake], &[T::S]),
    row(Always, &[T::MS, T::X],            &[F::UnblockExclusive],       &[B::SetOwner, B::Wake],          &[T::M]),
    row(Always, &[T::IE, T::SS, T::OS, T::MS, T::X], REQUESTS,           &[B::Stall],                      &[]),

    // The copy transaction: the state afterwards is the state before.
    row(Copies, &[T::I],                   &[F::Copy],                   &[B::MemoryCopy],                 &[T::IC]),
    row(Copies, &[T::S],                   &[F::Copy],                   &[B::MemoryCopy],                 &[T::SC]),
    row(Copies, &[T::O],                   &[F::Copy],                   &[B::ForwardCopy],                &[T::OC]),
    row(Copies, &[T::M],                   &[F::Copy],                   &[B::ForwardCopy],                &[T::MC]),
    row(Copies, &[T::IC],                  &[F::CopyDone],               &[B::Wake],                       &[T::I]),
    row(Copies, &[T::SC],                  &[F::CopyDone],               &[B::Wake],                       &[T::S]),
    row(Copies, &[T::OC],                  &[F::CopyDone],               &[B::Wake],                       &[T::O]),
    row(Copies, &[T::MC],                  &[F::CopyDone],               &[B::Wake],                       &[T::M]),
    row(Copies, &[T::IC, T::SC, T::OC, T::MC], REQUESTS,                 &[B::Stall],                      &[]),
    row(Copies, &[T::IE, T::SS, T::OS, T::MS, T::X, T::IC, T::SC, T::OC, T::MC], &[F::Copy], &[B::Stall],  &[]),

    // The exclusive right without data.
    row(Blanks, &[T::I],                   &[F::Blank],                  &[B::SendBlank],                  &[T::B]),
    row(Blanks, &[T::S],                   &[F::Blank],                  &[B::SendBlank, B::InvalidateSharers], &[T::B]),
    row(Blanks, &[T::O],                   &[F::Blank],                  &[B::SendBlank, B::InvalidateSharers, B::InvalidateOwner], &[T::B]),
    row(Blanks, &[T::M],                   &[F::Blank],                  &[B::SendBlank, B::InvalidateOwner], &[T::B]),
    row(Blanks, &[T::B],                   &[F::UnblockExclusive],       &[B::SetOwner, B::Wake],          &[T::M]),
    row(Blanks, &[T::B],                   REQUESTS,                     &[B::Stall],                      &[]),
    row(Blanks, &[T::B],                   &[F::Copy],                   &[B::Stall],                      &[]),
    row(Blanks, &[T::IE, T::SS, T::OS, T::MS, T::X, T::IC, T::SC, T::OC, T::MC, T::B], &[F::Blank], &[B::Stall], &[]),
];
