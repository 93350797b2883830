//! What a socket is and whom it talks to, recorded beside the calls that change that: as the kernel has it, so also where it chose
//! a port, or where the other end is another process's.

use bathyscope_capture::CallPlace;
use bathyscope_catalog::syscalls::Beside;

use super::{ends::kernel_number_by, plan, programs::ProgramWriter};
use crate::ir::{Helper, IrBinaryOp, Reg, Size, Test, Width};

/// Families of addresses.
const UNIX: i64 = 1;
const INET: i64 = 2;
const INET6: i64 = 10;
const NETLINK: i64 = 16;
/// A connection that is being made is not there yet, and its ends are known.
const IN_PROGRESS: i64 = -115;

impl ProgramWriter<'_> {
    /// Appends what a socket is, for a call that has made it or changed its ends.
    pub(super) fn note_socket(&mut self, state: Reg, flags: Reg, result: Reg) {
        let (Some(files), Some(places)) = (self.probe.places.file, self.probe.places.socket) else { return };
        if !self.probe.inodes {
            return;
        }
        let (told, fine, done) = (self.b.block(), self.b.block(), self.b.block());
        let kind = self.b.binary(IrBinaryOp::And, flags, plan::OPENS | plan::CONNECTS);
        self.b.branch(Test::Eq, kind, 0, done, told);
        self.b.switch_to(told);
        let pending = self.b.block();
        self.b.branch(Test::SignedGe, result, 0, fine, pending);
        self.b.switch_to(pending);
        self.b.branch(Test::Eq, result, IN_PROGRESS, fine, done);
        self.b.switch_to(fine);
        let slot = self.b.slot(8);
        let first = self.load(state, CallPlace::ARGUMENTS, Size::B4);
        let opens = self.b.binary(IrBinaryOp::And, kind, plan::OPENS);
        let fd = self.b.select(Test::Eq, Width::W64, opens, 0, first, result);
        let task = self.b.call(Helper::GetCurrentTask, &[]);
        let table = kernel_number_by(&mut self.b, slot, task, files.files, Size::B8);
        let table = kernel_number_by(&mut self.b, slot, table, files.table, Size::B8);
        let descriptors = kernel_number_by(&mut self.b, slot, table, files.descriptors, Size::B8);
        let offset = self.b.binary(IrBinaryOp::Shl, fd, 3);
        let at = self.b.binary(IrBinaryOp::Add, descriptors, offset);
        let file = kernel_number_by(&mut self.b, slot, at, 0, Size::B8);
        let socket = kernel_number_by(&mut self.b, slot, file, places.private, Size::B8);
        let sock = kernel_number_by(&mut self.b, slot, socket, places.sock, Size::B8);
        let family = kernel_number_by(&mut self.b, slot, sock, places.family, Size::B2);
        let (unix, not_unix, inet, not_inet) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        self.b.branch(Test::Eq, family, UNIX, unix, not_unix);
        self.b.switch_to(unix);
        let peer = kernel_number_by(&mut self.b, slot, sock, places.peer, Size::B8);
        let peer = kernel_number_by(&mut self.b, slot, peer, places.socket, Size::B8);
        let file = kernel_number_by(&mut self.b, slot, peer, places.file, Size::B8);
        let inode = kernel_number_by(&mut self.b, slot, file, files.inode, Size::B8);
        let number = kernel_number_by(&mut self.b, slot, inode, files.number, Size::B8);
        self.append_number(state, Beside::SOCKET, 0, family);
        self.append_number(state, Beside::SOCKET, 1, number);
        self.b.jump(done);
        self.b.switch_to(not_unix);
        let netlink = self.b.block();
        self.b.branch(Test::Eq, family, NETLINK, netlink, not_inet);
        self.b.switch_to(netlink);
        let port = kernel_number_by(&mut self.b, slot, sock, places.netlink_port, Size::B4);
        self.append_number(state, Beside::SOCKET, 0, family);
        self.append_number(state, Beside::SOCKET, 1, port);
        self.b.jump(done);
        self.b.switch_to(not_inet);
        let six = self.b.block();
        self.b.branch(Test::Eq, family, INET, inet, six);
        self.b.switch_to(six);
        self.b.branch(Test::Eq, family, INET6, inet, done);
        self.b.switch_to(inet);
        let own = kernel_number_by(&mut self.b, slot, sock, places.own_port, Size::B2);
        let own = self.b.binary(IrBinaryOp::Shl, own, 16);
        let all = self.b.binary(IrBinaryOp::Or, family, own);
        let other = kernel_number_by(&mut self.b, slot, sock, places.other_port, Size::B2);
        let other = self.b.binary(IrBinaryOp::Shl, other, 32);
        let all = self.b.binary(IrBinaryOp::Or, all, other);
        self.append_number(state, Beside::SOCKET, 0, all);
        let addresses = [
            (places.own_address, Size::B4),
            (places.other_address, Size::B4),
            (places.own_address_6, Size::B8),
            (places.own_address_6 + 8, Size::B8),
            (places.other_address_6, Size::B8),
            (places.other_address_6 + 8, Size::B8),
        ];
        for (part, (place, size)) in (1..).zip(addresses) {
            let number = kernel_number_by(&mut self.b, slot, sock, place, size);
            self.append_number(state, Beside::SOCKET, part, number);
        }
        self.b.jump(done);
        self.b.switch_to(done);
    }
}
