// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The words of the tables.

/// An enumeration whose values have names and can be listed.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[doc = $text:literal])+ $value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $name { $($(#[doc = $text])+ $value,)+ }

        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$value),+];

            /// The name in the printed table.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$value => $word,)+ }
            }

            /// The meaning.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$value => concat!($($text),+),)+ }
            }
        }
    };
}

/// The requests of the device beside the L2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, mb_core::parameters::Choice)]
pub enum DeviceTransactions {
    /// Reads and exclusive reads.
    Base,
    /// Also the copy transaction, which changes no state.
    #[choice("optcopy")]
    OptCopy,
    /// Also the exclusive right without data.
    #[choice("optcache")]
    OptCache,
}

words! {
    /// States of a line in a cache controller.
    CacheState {
        /// No copy.
        I = "I",
        /// A copy; the line may be in other nodes.
        S = "S",
        /// The only copy; memory is current.
        E = "E",
        /// The owner's copy, which memory does not have; other nodes may have copies.
        O = "O",
        /// The only copy, which memory does not have.
        M = "M",
        /// The device has the exclusive right.
        D = "D",
        /// A read waits for data.
        IS = "IS",
        /// An exclusive request waits for data.
        IM = "IM",
        /// An upgrade waits; the copy can be read.
        SM = "SM",
        /// An upgrade of the owner waits; the copy can be read.
        OM = "OM",
        /// An exclusive request has data and waits for acknowledgements.
        MA = "MA",
        /// A read of the device waits for data.
        ID = "ID",
        /// A write-back of M waits.
        MI = "MI",
        /// A write-back of O waits.
        OI = "OI",
        /// An eviction of E waits.
        EI = "EI",
        /// A write-back waits that another request has overtaken.
        II = "II",
    }
}

words! {
    /// Events of a line in a cache controller.
    CacheEvent {
        /// The core loads or fetches, or the device reads into the L2.
        Read = "Read",
        /// The core stores.
        Write = "Write",
        /// The L2 evicts the line.
        Replace = "Replace",
        /// The device reads a line to send.
        DeviceGetS = "M_GETS",
        /// The device wants the exclusive right.
        DeviceGetX = "M_GETX",
        /// The device wants a copy that changes no state.
        DeviceCopy = "M_COPY",
        /// The device wants the exclusive right without data.
        DeviceBlank = "M_BLANK",
        /// The device writes a line that it owns.
        DeviceWrite = "M_WRITE",
        /// The device gives a line back.
        DeviceRelease = "M_RELEASE",
        /// Another node reads.
        FwdGetS = "FwdGetS",
        /// Another node wants the exclusive right.
        FwdGetX = "FwdGetX",
        /// The device of another node wants a copy.
        FwdCopy = "FwdCopy",
        /// Another node gets the exclusive right, and data from elsewhere.
        Inv = "Inv",
        /// Data to share; the owner stays, or memory is current.
        Data = "Data",
        /// Data to share from an owner in E, who shares it too.
        Clean = "Clean",
        /// Data for the only copy; memory is current.
        Exclusive = "Excl",
        /// Data for the only copy, which was modified.
        Modified = "Modif",
        /// Data with the exclusive right, and no acknowledgement is missing.
        DataAll = "DataX.all",
        /// Data with the exclusive right; acknowledgements are missing.
        DataMore = "DataX.more",
        /// The exclusive right for a copy, and no acknowledgement is missing.
        GrantAll = "Grant.all",
        /// The exclusive right for a copy; acknowledgements are missing.
        GrantMore = "Grant.more",
        /// The exclusive right without data, and no acknowledgement is missing.
        BlankAll = "Blank.all",
        /// The exclusive right without data; acknowledgements are missing.
        BlankMore = "Blank.more",
        /// A copy for the device.
        CopyData = "CopyData",
        /// An acknowledgement that is not known to be the last one.
        AckMore = "Ack.more",
        /// The last acknowledgement.
        AckLast = "Ack.last",
        /// The directory has seen the write-back.
        PutAck = "PutAck",
    }
}

words! {
    /// Actions of a cache controller.
    CacheAction {
        /// Serve the request from the copy.
        Hit = "hit",
        /// Let the request wait until the state is stable.
        Stall = "stall",
        /// Run the requests that wait.
        Restart = "restart",
        /// Give up the copy, and reservations of it.
        Drop = "drop",
        /// Keep the bytes of the message.
        Fill = "fill",
        /// Make the bytes zero.
        Zero = "zero",
        /// Add the acknowledgements that the message announces.
        Expect = "expect",
        /// Count an acknowledgement.
        Count = "count",
        /// Give the bytes of the copy to the device.
        GiveCopy = "give copy",
        /// Give the bytes of the message to the device.
        Deliver = "deliver",
        /// Give the line to the device; reservations are lost.
        GiveLine = "give line",
        /// Take the line back from the device, with its bytes.
        TakeBytes = "take bytes",
        /// Take the line back from the device, unchanged.
        TakeBack = "take back",
        /// Ignore a request of the device for a line that it does not own.
        Refuse = "refuse",
        /// Tell the device that it does not own the line.
        Revoke = "revoke",
        /// `GetS` to the home.
        SendGetS = "GetS",
        /// `GetX` to the home.
        SendGetX = "GetX",
        /// Upgrade to the home.
        SendUpgrade = "Upgrade",
        /// Copy to the home.
        SendCopy = "Copy",
        /// Blank to the home.
        SendBlank = "Blank",
        /// Write-back of M to the home.
        SendPutM = "PutM",
        /// Write-back of O to the home.
        SendPutO = "PutO",
        /// Notice of an eviction of E to the home.
        SendPutE = "PutE",
        /// Data to the requester.
        SendData = "Data",
        /// Clean to the requester.
        SendClean = "Clean",
        /// Modified to the requester.
        SendModified = "Modif",
        /// Data with the exclusive right to the requester.
        SendDataX = "DataX",
        /// A copy to the requester.
        SendCopyData = "CopyData",
        /// An acknowledgement to the requester.
        SendAck = "Ack",
        /// To the home: the line is shared.
        UnblockShared = "UnblockS",
        /// To the home: the line is shared, and memory owns it.
        UnblockClean = "UnblockC",
        /// To the home: the line is exclusive.
        UnblockExclusive = "UnblockX",
        /// To the home: the copy has arrived.
        SendCopyDone = "CopyDone",
    }
}

words! {
    /// States of a line in its directory.
    DirectoryState {
        /// Memory owns the line, and no node has it.
        I = "I",
        /// Memory owns the line; nodes may have copies.
        S = "S",
        /// A node owns the line; other nodes may have copies.
        O = "O",
        /// A node has the only copy, in E, M or D.
        M = "M",
        /// A read of memory, exclusive.
        IE = "I.E",
        /// A read of memory, shared.
        SS = "S.S",
        /// A read at the owner in O.
        OS = "O.S",
        /// A read at the owner in E, M or D.
        MS = "M.S",
        /// An exclusive request.
        X = "X",
        /// A copy of a line in I.
        IC = "I.C",
        /// A copy of a line in S.
        SC = "S.C",
        /// A copy of a line in O.
        OC = "O.C",
        /// A copy of a line in M.
        MC = "M.C",
        /// An exclusive request without data.
        B = "B",
    }
}

words! {
    /// Events of a line in its directory.
    DirectoryEvent {
        /// A read.
        GetS = "GetS",
        /// An exclusive request of a node without a copy.
        GetX = "GetX",
        /// An upgrade of the owner.
        UpgradeOwner = "Upgrade.owner",
        /// An upgrade of a node with a copy.
        UpgradeSharer = "Upgrade.sharer",
        /// A device wants a copy.
        Copy = "Copy",
        /// A device wants the exclusive right without data.
        Blank = "Blank",
        /// A write-back of the owner in M.
        PutM = "PutM",
        /// A write-back of the owner in O.
        PutO = "PutO",
        /// An eviction of the owner in E.
        PutE = "PutE",
        /// A write-back of a node that does not own the line.
        PutStale = "Put.stale",
        /// The requester shares the line.
        UnblockShared = "UnblockS",
        /// The requester and the former owner share the line, and memory is current.
        UnblockClean = "UnblockC",
        /// The requester has the only copy.
        UnblockExclusive = "UnblockX",
        /// The requester has its copy.
        CopyDone = "CopyDone",
    }
}

words! {
    /// Actions of a directory.
    DirectoryAction {
        /// Let the message wait until the state is stable.
        Stall = "stall",
        /// Data of memory to the requester, to share.
        MemoryData = "memory Data",
        /// Data of memory to the requester, exclusive.
        MemoryExclusive = "memory Excl",
        /// Data of memory to the requester, with the exclusive right.
        MemoryDataX = "memory DataX",
        /// A copy of memory to the requester.
        MemoryCopy = "memory CopyData",
        /// The exclusive right to the requester, who has a copy.
        SendGrant = "Grant",
        /// The exclusive right without data to the requester.
        SendBlank = "Blank",
        /// The read to the owner.
        ForwardGetS = "FwdGetS",
        /// The exclusive request to the owner.
        ForwardGetX = "FwdGetX",
        /// The copy to the owner.
        ForwardCopy = "FwdCopy",
        /// Inv to all sharers but the requester.
        InvalidateSharers = "Inv sharers",
        /// Inv to the owner.
        InvalidateOwner = "Inv owner",
        /// The data of the message goes to memory.
        WriteMemory = "write memory",
        /// Acknowledge the write-back.
        SendPutAck = "PutAck",
        /// The sender becomes a sharer.
        AddSharer = "add sharer",
        /// The owner becomes a sharer.
        ShareOwner = "share owner",
        /// The sender becomes the owner, without sharers.
        SetOwner = "set owner",
        /// Memory becomes the owner.
        ClearOwner = "clear owner",
        /// Serve the oldest message that waits.
        Wake = "wake",
    }
}

words! {
    /// Messages between controllers.
    MessageKind {
        /// A read.
        GetS = "GetS",
        /// An exclusive request.
        GetX = "GetX",
        /// An exclusive request of a node with a copy.
        Upgrade = "Upgrade",
        /// A device wants a copy.
        Copy = "Copy",
        /// A device wants the exclusive right without data.
        Blank = "Blank",
        /// A write-back of M, with data.
        PutM = "PutM",
        /// A write-back of O, with data.
        PutO = "PutO",
        /// An eviction of E.
        PutE = "PutE",
        /// The requester shares the line.
        UnblockShared = "UnblockS",
        /// The requester and the former owner share the line.
        UnblockClean = "UnblockC",
        /// The requester has the only copy.
        UnblockExclusive = "UnblockX",
        /// The requester has its copy.
        CopyDone = "CopyDone",
        /// A read, to the owner.
        FwdGetS = "FwdGetS",
        /// An exclusive request, to the owner.
        FwdGetX = "FwdGetX",
        /// A request for a copy, to the owner.
        FwdCopy = "FwdCopy",
        /// Give up a copy, and acknowledge to the requester.
        Inv = "Inv",
        /// A write-back is done.
        PutAck = "PutAck",
        /// Data to share.
        Data = "Data",
        /// Data to share, from an owner in E.
        Clean = "Clean",
        /// Data of memory, exclusive.
        Exclusive = "Excl",
        /// Data of an owner in M, exclusive.
        Modified = "Modif",
        /// Data with the exclusive right.
        DataX = "DataX",
        /// The exclusive right for a copy.
        Grant = "Grant",
        /// The exclusive right without data.
        GrantBlank = "GrantBlank",
        /// A copy.
        CopyData = "CopyData",
        /// An acknowledgement of Inv.
        Ack = "Ack",
    }
}

impl MessageKind {
    /// Whether the message goes to a directory; the others go to cache controllers.
    #[must_use]
    pub const fn is_to_home(self) -> bool {
        (self as u8) <= Self::CopyDone as u8
    }

    /// Whether the message is a request or write-back that waits while the line is busy.
    #[must_use]
    pub const fn is_request(self) -> bool {
        (self as u8) <= Self::PutE as u8
    }

    /// Whether the message has the bytes of the line.
    #[must_use]
    pub const fn has_data(self) -> bool {
        matches!(
            self,
            Self::PutM
                | Self::PutO
                | Self::Data
                | Self::Clean
                | Self::Exclusive
                | Self::Modified
                | Self::DataX
                | Self::CopyData
        )
    }
}

impl CacheState {
    /// Whether no transaction of the node is under way.
    #[must_use]
    pub const fn is_stable(self) -> bool {
        (self as u8) <= Self::D as u8
    }
}

impl DirectoryState {
    /// Whether no transaction is under way.
    #[must_use]
    pub const fn is_stable(self) -> bool {
        (self as u8) <= Self::M as u8
    }
}
