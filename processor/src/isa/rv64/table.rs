// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The instructions of RV64, a line for each: how they are encoded, what they read and write, and
//! what executes them.
//!
//! The columns are: the name; the bits from 31 down to 0; the class; the format; and the [`Kind`](super::kind::Kind),
//! after `=` if it is that of another line too.
//!
//! | bits | |
//! |---|---|
//! | `0` `1` | fixed |
//! | `d` `a` `b` | rd, rs1 and rs2, in the general registers |
//! | `D` `A` `B` `C` | rd, rs1, rs2 and rs3, in the floating-point registers |
//! | `f` | the floating-point format: 0 for single precision, 1 for double |
//! | `r` | a rounding mode: any value but 5 and 6, which are reserved |
//! | `.` | anything; often a part of an immediate |
//!
//! The length of an access is in the lower two bits of funct3, in all formats.

/// Passes the lines to the macro `$define`. `A` is [`AtomicKind`](super::effect::AtomicKind) and `F`
/// is [`FloatOp`](super::float::FloatOp).
macro_rules! instructions {
    ($define:ident) => {
        $define! {
            // RV64I.
            "lui"     "....... ..... ..... ... ddddd 0110111" Integer U      Constant;
            "auipc"   "....... ..... ..... ... ddddd 0010111" Integer UPc    = Constant;
            "jal"     "....... ..... ..... ... ddddd 1101111" Integer J      Jump;
            "jalr"    "....... ..... aaaaa 000 ddddd 1100111" Integer I      JumpRegister;
            "beq"     "....... bbbbb aaaaa 000 ..... 1100011" Integer B      BranchEqual;
            "bne"     "....... bbbbb aaaaa 001 ..... 1100011" Integer B      BranchNotEqual;
            "blt"     "....... bbbbb aaaaa 100 ..... 1100011" Integer B      BranchLess;
            "bge"     "....... bbbbb aaaaa 101 ..... 1100011" Integer B      BranchNotLess;
            "bltu"    "....... bbbbb aaaaa 110 ..... 1100011" Integer B      BranchLessUnsigned;
            "bgeu"    "....... bbbbb aaaaa 111 ..... 1100011" Integer B      BranchNotLessUnsigned;
            "lb"      "....... ..... aaaaa 000 ddddd 0000011" Load    I      LoadByte;
            "lh"      "....... ..... aaaaa 001 ddddd 0000011" Load    I      LoadHalf;
            "lw"      "....... ..... aaaaa 010 ddddd 0000011" Load    I      LoadWord;
            "ld"      "....... ..... aaaaa 011 ddddd 0000011" Load    I      LoadDouble;
            "lbu"     "....... ..... aaaaa 100 ddddd 0000011" Load    I      LoadByteUnsigned;
            "lhu"     "....... ..... aaaaa 101 ddddd 0000011" Load    I      LoadHalfUnsigned;
            "lwu"     "....... ..... aaaaa 110 ddddd 0000011" Load    I      LoadWordUnsigned;
            "sb"      "....... bbbbb aaaaa 000 ..... 0100011" Store   S      StoreByte;
            "sh"      "....... bbbbb aaaaa 001 ..... 0100011" Store   S      StoreHalf;
            "sw"      "....... bbbbb aaaaa 010 ..... 0100011" Store   S      StoreWord;
            "sd"      "....... bbbbb aaaaa 011 ..... 0100011" Store   S      StoreDouble;
            "addi"    "....... ..... aaaaa 000 ddddd 0010011" Integer I      AddImm;
            "slti"    "....... ..... aaaaa 010 ddddd 0010011" Integer I      LessImm;
            "sltiu"   "....... ..... aaaaa 011 ddddd 0010011" Integer I      LessUnsignedImm;
            "xori"    "....... ..... aaaaa 100 ddddd 0010011" Integer I      XorImm;
            "ori"     "....... ..... aaaaa 110 ddddd 0010011" Integer I      OrImm;
            "andi"    "....... ..... aaaaa 111 ddddd 0010011" Integer I      AndImm;
            "slli"    "000000. ..... aaaaa 001 ddddd 0010011" Integer Amount ShiftLeftImm;
            "srli"    "000000. ..... aaaaa 101 ddddd 0010011" Integer Amount ShiftRightImm;
            "srai"    "010000. ..... aaaaa 101 ddddd 0010011" Integer Amount ShiftRightSignedImm;
            "addiw"   "....... ..... aaaaa 000 ddddd 0011011" Integer I      AddImmWord;
            "slliw"   "0000000 ..... aaaaa 001 ddddd 0011011" Integer Amount ShiftLeftImmWord;
            "srliw"   "0000000 ..... aaaaa 101 ddddd 0011011" Integer Amount ShiftRightImmWord;
            "sraiw"   "0100000 ..... aaaaa 101 ddddd 0011011" Integer Amount ShiftRightSignedImmWord;
            "add"     "0000000 bbbbb aaaaa 000 ddddd 0110011" Integer R      Add;
            "sub"     "0100000 bbbbb aaaaa 000 ddddd 0110011" Integer R      Sub;
            "sll"     "0000000 bbbbb aaaaa 001 ddddd 0110011" Integer R      ShiftLeft;
            "slt"     "0000000 bbbbb aaaaa 010 ddddd 0110011" Integer R      Less;
            "sltu"    "0000000 bbbbb aaaaa 011 ddddd 0110011" Integer R      LessUnsigned;
            "xor"     "0000000 bbbbb aaaaa 100 ddddd 0110011" Integer R      Xor;
            "srl"     "0000000 bbbbb aaaaa 101 ddddd 0110011" Integer R      ShiftRight;
            "sra"     "0100000 bbbbb aaaaa 101 ddddd 0110011" Integer R      ShiftRightSigned;
            "or"      "0000000 bbbbb aaaaa 110 ddddd 0110011" Integer R      Or;
            "and"     "0000000 bbbbb aaaaa 111 ddddd 0110011" Integer R      And;
            "addw"    "0000000 bbbbb aaaaa 000 ddddd 0111011" Integer R      AddWord;
            "subw"    "0100000 bbbbb aaaaa 000 ddddd 0111011" Integer R      SubWord;
            "sllw"    "0000000 bbbbb aaaaa 001 ddddd 0111011" Integer R      ShiftLeftWord;
            "srlw"    "0000000 bbbbb aaaaa 101 ddddd 0111011" Integer R      ShiftRightWord;
            "sraw"    "0100000 bbbbb aaaaa 101 ddddd 0111011" Integer R      ShiftRightSignedWord;
            // Zihintpause. It is a fence without successors.
            "pause"   "0000000 10000 00000 000 00000 0001111" Integer Word   Pause;
            // The manual: a fence ignores the fields rd and rs1.
            "fence"   "....... ..... ..... 000 ..... 0001111" Fence   Word   Fence;
            "fence.i" "....... ..... ..... 001 ..... 0001111" System  Word   FenceInstruction;
            "ecall"   "0000000 00000 00000 000 00000 1110011" System  Call   Call;
            // Zawrs.
            "wrs.nto" "0000000 01101 00000 000 00000 1110011" System  R      = WaitOnReservation(false);
            "wrs.sto" "0000000 11101 00000 000 00000 1110011" System  R      = WaitOnReservation(true);
            // Zicsr.
            "csrrw"   "....... ..... aaaaa 001 ddddd 1110011" System  Word   Csr;
            "csrrs"   "....... ..... aaaaa 010 ddddd 1110011" System  Word   = Csr;
            "csrrc"   "....... ..... aaaaa 011 ddddd 1110011" System  Word   = Csr;
            "csrrwi"  "....... ..... ..... 101 ddddd 1110011" System  Word   = Csr;
            "csrrsi"  "....... ..... ..... 110 ddddd 1110011" System  Word   = Csr;
            "csrrci"  "....... ..... ..... 111 ddddd 1110011" System  Word   = Csr;

            // M.
            "mul"    "0000001 bbbbb aaaaa 000 ddddd 0110011" Multiply R Mul;
            "mulh"   "0000001 bbbbb aaaaa 001 ddddd 0110011" Multiply R MulHigh;
            "mulhsu" "0000001 bbbbb aaaaa 010 ddddd 0110011" Multiply R MulHighSignedUnsigned;
            "mulhu"  "0000001 bbbbb aaaaa 011 ddddd 0110011" Multiply R MulHighUnsigned;
            "div"    "0000001 bbbbb aaaaa 100 ddddd 0110011" Divide   R Div;
            "divu"   "0000001 bbbbb aaaaa 101 ddddd 0110011" Divide   R DivUnsigned;
            "rem"    "0000001 bbbbb aaaaa 110 ddddd 0110011" Divide   R Rem;
            "remu"   "0000001 bbbbb aaaaa 111 ddddd 0110011" Divide   R RemUnsigned;
            "mulw"   "0000001 bbbbb aaaaa 000 ddddd 0111011" Multiply R MulWord;
            "divw"   "0000001 bbbbb aaaaa 100 ddddd 0111011" Divide   R DivWord;
            "divuw"  "0000001 bbbbb aaaaa 101 ddddd 0111011" Divide   R DivUnsignedWord;
            "remw"   "0000001 bbbbb aaaaa 110 ddddd 0111011" Divide   R RemWord;
            "remuw"  "0000001 bbbbb aaaaa 111 ddddd 0111011" Divide   R RemUnsignedWord;

            // A. The lowest bit of funct3 tells the widths apart.
            "lr.{w,d}"      "00010.. 00000 aaaaa 01. ddddd 0101111" Load   Ordering = Atomic(A::LoadReserved);
            "sc.{w,d}"      "00011.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::StoreConditional);
            "amoswap.{w,d}" "00001.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::Swap);
            "amoadd.{w,d}"  "00000.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::Add);
            "amoxor.{w,d}"  "00100.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::Xor);
            "amoand.{w,d}"  "01100.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::And);
            "amoor.{w,d}"   "01000.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::Or);
            "amomin.{w,d}"  "10000.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::Min);
            "amomax.{w,d}"  "10100.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::Max);
            "amominu.{w,d}" "11000.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::MinUnsigned);
            "amomaxu.{w,d}" "11100.. bbbbb aaaaa 01. ddddd 0101111" Atomic Ordering = Atomic(A::MaxUnsigned);

            // Zba.
            "add.uw"    "0000100 bbbbb aaaaa 000 ddddd 0111011" Integer R      = ShiftAddUnsignedWord(0);
            "sh1add"    "0010000 bbbbb aaaaa 010 ddddd 0110011" Integer R      = ShiftAdd(1);
            "sh2add"    "0010000 bbbbb aaaaa 100 ddddd 0110011" Integer R      = ShiftAdd(2);
            "sh3add"    "0010000 bbbbb aaaaa 110 ddddd 0110011" Integer R      = ShiftAdd(3);
            "sh1add.uw" "0010000 bbbbb aaaaa 010 ddddd 0111011" Integer R      = ShiftAddUnsignedWord(1);
            "sh2add.uw" "0010000 bbbbb aaaaa 100 ddddd 0111011" Integer R      = ShiftAddUnsignedWord(2);
            "sh3add.uw" "0010000 bbbbb aaaaa 110 ddddd 0111011" Integer R      = ShiftAddUnsignedWord(3);
            "slli.uw"   "000010. ..... aaaaa 001 ddddd 0011011" Integer Amount ShiftLeftImmUnsignedWord;

            // Zbb.
            "andn"   "0100000 bbbbb aaaaa 111 ddddd 0110011" Integer R      AndNot;
            "orn"    "0100000 bbbbb aaaaa 110 ddddd 0110011" Integer R      OrNot;
            "xnor"   "0100000 bbbbb aaaaa 100 ddddd 0110011" Integer R      Xnor;
            "clz"    "0110000 00000 aaaaa 001 ddddd 0010011" Integer R      LeadingZeros;
            "clzw"   "0110000 00000 aaaaa 001 ddddd 0011011" Integer R      LeadingZerosWord;
            "ctz"    "0110000 00001 aaaaa 001 ddddd 0010011" Integer R      TrailingZeros;
            "ctzw"   "0110000 00001 aaaaa 001 ddddd 0011011" Integer R      TrailingZerosWord;
            "cpop"   "0110000 00010 aaaaa 001 ddddd 0010011" Integer R      Ones;
            "cpopw"  "0110000 00010 aaaaa 001 ddddd 0011011" Integer R      OnesWord;
            "max"    "0000101 bbbbb aaaaa 110 ddddd 0110011" Integer R      Max;
            "maxu"   "0000101 bbbbb aaaaa 111 ddddd 0110011" Integer R      MaxUnsigned;
            "min"    "0000101 bbbbb aaaaa 100 ddddd 0110011" Integer R      Min;
            "minu"   "0000101 bbbbb aaaaa 101 ddddd 0110011" Integer R      MinUnsigned;
            "sext.b" "0110000 00100 aaaaa 001 ddddd 0010011" Integer R      SignExtendByte;
            "sext.h" "0110000 00101 aaaaa 001 ddddd 0010011" Integer R      SignExtendHalf;
            "zext.h" "0000100 00000 aaaaa 100 ddddd 0111011" Integer R      ZeroExtendHalf;
            "rol"    "0110000 bbbbb aaaaa 001 ddddd 0110011" Integer R      RotateLeft;
            "rolw"   "0110000 bbbbb aaaaa 001 ddddd 0111011" Integer R      RotateLeftWord;
            "ror"    "0110000 bbbbb aaaaa 101 ddddd 0110011" Integer R      RotateRight;
            "rori"   "011000. ..... aaaaa 101 ddddd 0010011" Integer Amount RotateRightImm;
            "roriw"  "0110000 ..... aaaaa 101 ddddd 0011011" Integer Amount RotateRightImmWord;
            "rorw"   "0110000 bbbbb aaaaa 101 ddddd 0111011" Integer R      RotateRightWord;
            "orc.b"  "0010100 00111 aaaaa 101 ddddd 0010011" Integer R      OrCombineBytes;
            "rev8"   "0110101 11000 aaaaa 101 ddddd 0010011" Integer R      ReverseBytes;

            // F and D.
            "flw"             "....... ..... aaaaa 010 DDDDD 0000111" Load            I    LoadSingle;
            "fld"             "....... ..... aaaaa 011 DDDDD 0000111" Load            I    = LoadDouble;
            "fsw"             "....... BBBBB aaaaa 010 ..... 0100111" Store           S    = StoreWord;
            "fsd"             "....... BBBBB aaaaa 011 ..... 0100111" Store           S    = StoreDouble;
            "fmadd.{s,d}"     "CCCCC0f BBBBB AAAAA rrr DDDDD 1000011" FloatFused      Word = Single(F::MultiplyAdd);
            "fmsub.{s,d}"     "CCCCC0f BBBBB AAAAA rrr DDDDD 1000111" FloatFused      Word = Single(F::MultiplySubtract);
            "fnmsub.{s,d}"    "CCCCC0f BBBBB AAAAA rrr DDDDD 1001011" FloatFused      Word = Single(F::NegatedMultiplySubtract);
            "fnmadd.{s,d}"    "CCCCC0f BBBBB AAAAA rrr DDDDD 1001111" FloatFused      Word = Single(F::NegatedMultiplyAdd);
            "fadd.{s,d}"      "000000f BBBBB AAAAA rrr DDDDD 1010011" FloatAdd        Word = Single(F::Add);
            "fsub.{s,d}"      "000010f BBBBB AAAAA rrr DDDDD 1010011" FloatAdd        Word = Single(F::Subtract);
            "fmul.{s,d}"      "000100f BBBBB AAAAA rrr DDDDD 1010011" FloatMultiply   Word = Single(F::Multiply);
            "fdiv.{s,d}"      "000110f BBBBB AAAAA rrr DDDDD 1010011" FloatDivide     Word = Single(F::Divide);
            "fsqrt.{s,d}"     "010110f 00000 AAAAA rrr DDDDD 1010011" FloatSquareRoot Word = Single(F::SquareRoot);
            "fsgnj.{s,d}"     "001000f BBBBB AAAAA 000 DDDDD 1010011" FloatMove       Word = Single(F::Sign);
            "fsgnjn.{s,d}"    "001000f BBBBB AAAAA 001 DDDDD 1010011" FloatMove       Word = Single(F::SignNegated);
            "fsgnjx.{s,d}"    "001000f BBBBB AAAAA 010 DDDDD 1010011" FloatMove       Word = Single(F::SignXor);
            "fmin.{s,d}"      "001010f BBBBB AAAAA 000 DDDDD 1010011" FloatMove       Word = Single(F::Minimum);
            "fmax.{s,d}"      "001010f BBBBB AAAAA 001 DDDDD 1010011" FloatMove       Word = Single(F::Maximum);
            "fle.{s,d}"       "101000f BBBBB AAAAA 000 ddddd 1010011" FloatMove       Word = Single(F::LessOrEqual);
            "flt.{s,d}"       "101000f BBBBB AAAAA 001 ddddd 1010011" FloatMove       Word = Single(F::Less);
            "feq.{s,d}"       "101000f BBBBB AAAAA 010 ddddd 1010011" FloatMove       Word = Single(F::Equal);
            "fclass.{s,d}"    "111000f 00000 AAAAA 001 ddddd 1010011" FloatMove       Word = Single(F::Classify);
            "fmv.x.{w,d}"     "111000f 00000 AAAAA 000 ddddd 1010011" FloatMove       Word = Single(F::MoveToGeneral);
            "fmv.{w,d}.x"     "111100f 00000 aaaaa 000 DDDDD 1010011" FloatMove       Word = Single(F::MoveFromGeneral);
            "fcvt.s.d"        "0100000 00001 AAAAA rrr DDDDD 1010011" FloatConvert    Word = Single(F::Convert);
            "fcvt.d.s"        "0100001 00000 AAAAA rrr DDDDD 1010011" FloatConvert    Word = Double(F::Convert);
            "fcvt.w.{s,d}"    "110000f 00000 AAAAA rrr ddddd 1010011" FloatConvert    Word = Single(F::ToWord);
            "fcvt.wu.{s,d}"   "110000f 00001 AAAAA rrr ddddd 1010011" FloatConvert    Word = Single(F::ToWordUnsigned);
            "fcvt.l.{s,d}"    "110000f 00010 AAAAA rrr ddddd 1010011" FloatConvert    Word = Single(F::ToLong);
            "fcvt.lu.{s,d}"   "110000f 00011 AAAAA rrr ddddd 1010011" FloatConvert    Word = Single(F::ToLongUnsigned);
            "fcvt.{s,d}.w"    "110100f 00000 aaaaa rrr DDDDD 1010011" FloatConvert    Word = Single(F::FromWord);
            "fcvt.{s,d}.wu"   "110100f 00001 aaaaa rrr DDDDD 1010011" FloatConvert    Word = Single(F::FromWordUnsigned);
            "fcvt.{s,d}.l"    "110100f 00010 aaaaa rrr DDDDD 1010011" FloatConvert    Word = Single(F::FromLong);
            "fcvt.{s,d}.lu"   "110100f 00011 aaaaa rrr DDDDD 1010011" FloatConvert    Word = Single(F::FromLongUnsigned);
        }
    };
}

pub(super) use instructions;
