// Purpose: reads .eh_frame_hdr and .eh_frame (LSB 5, chapter 10.6) and the call frame instructions of DWARF 4
// (6.4), as compilers for x86-64 use them. Any other content ends the stack.
// Runs: inside the program's malloc, but only at first sight of an address.
#include "preload/stack/eh_frame.h"

#include <cstring>

#include "preload/stack/loaded_modules.h"

namespace memtrace::record {
namespace {

using Cfa = FrameRule::Cfa;
using Bp = FrameRule::Bp;

constexpr std::uint64_t kRbp = 6; // register numbers of DWARF
constexpr std::uint64_t kRsp = 7;
constexpr std::uint64_t kReturnAddress = 16;

// A bounded part of a table. A read past its end returns 0 and clears `good`.
struct TableBytes {
  const std::uint8_t* next;
  const std::uint8_t* end;
  bool good = true;

  bool more() const { return good && next < end; }
  template <class T>
  T take() {
    T value{};
    if (static_cast<std::size_t>(end - next) < sizeof value) {
      good = false;
      next = end;
      return value;
    }
    std::memcpy(&value, next, sizeof value);
    next += sizeof value;
    return value;
  }
  void skip(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end - next)) {
      good = false;
      bytes = static_cast<std::uint64_t>(end - next);
    }
    next += bytes;
  }
  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = take<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      if ((byte & 128) == 0) break;
    }
    return value;
  }
  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = take<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 127) << shift;
      shift += 7;
      if ((byte & 128) != 0) continue;
      if ((byte & 64) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      break;
    }
    return static_cast<std::int64_t>(value);
  }
  // Returns a pointer in an encoding of DW_EH_PE_*. `bare`: only the width counts; the value is not relative.
  std::uint64_t pointer(std::uint8_t encoding, bool bare = false) {
    const auto here = reinterpret_cast<std::uint64_t>(next);
    std::uint64_t value = 0;
    switch (encoding & 0x0F) {
      case 0x00:
      case 0x04:
      case 0x0C:
        value = take<std::uint64_t>();
        break;
      case 0x03:
        value = take<std::uint32_t>();
        break;
      case 0x0B:
        value = static_cast<std::uint64_t>(std::int64_t{take<std::int32_t>()});
        break;
      default:
        good = false;
    }
    if (bare) return value;
    if ((encoding & 0xF0) == 0x10) return value + here;
    if ((encoding & 0xF0) != 0x00) good = false;
    return value;
  }
  TableBytes part(std::uint64_t bytes) {
    TableBytes inner{next, next, true};
    skip(bytes);
    inner.end = next;
    return inner;
  }
};

// The fields of a CIE that its functions share.
struct Common {
  TableBytes instructions{};
  std::uint64_t code_unit = 1;
  std::int64_t data_unit = 1;
  std::uint8_t pointers = 0; // their encoding
  bool augmented = false;
  bool signal = false;
};

// Returns the record at `at`, without its length. If it is the end mark or has the 64-bit format, the result is
// empty and not `good`.
TableBytes record_at(const std::uint8_t* at) {
  std::uint32_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  if (bytes == 0 || bytes == 0xFFFFFFFF) return {at, at, false};
  return {at + sizeof bytes, at + sizeof bytes + bytes, true};
}

bool read_common(const std::uint8_t* at, Common* out) {
  TableBytes cie = record_at(at);
  if (cie.take<std::uint32_t>() != 0 || !cie.good) return false; // the id of a CIE
  const auto version = cie.take<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  const auto* augmentation = reinterpret_cast<const char*>(cie.next);
  while (cie.take<std::uint8_t>() != 0) {
  }
  if (!cie.good) return false;
  out->code_unit = cie.unsigned_leb();
  out->data_unit = cie.signed_leb();
  const std::uint64_t return_column = version == 1 ? cie.take<std::uint8_t>() : cie.unsigned_leb();
  if (return_column != kReturnAddress) return false;
  if (*augmentation == 'z') {
    out->augmented = true;
    TableBytes data = cie.part(cie.unsigned_leb());
    for (++augmentation; *augmentation != '\0'; ++augmentation) {
      if (*augmentation == 'R') {
        out->pointers = data.take<std::uint8_t>();
      } else if (*augmentation == 'P') {
        const auto encoding = data.take<std::uint8_t>();
        data.pointer(encoding, true);
      } else if (*augmentation == 'L') {
        data.skip(1);
      } else if (*augmentation == 'S') {
        out->signal = true;
      } else {
        return false;
      }
    }
    if (!data.good) return false;
  } else if (*augmentation != '\0') {
    return false;
  }
  out->instructions = {cie.next, cie.end, true};
  return cie.good;
}

// True if the expression is "bp + offset" (with `deref`, the word there). Compilers write it when a function
// aligns its stack.
bool is_bp_plus(TableBytes expression, bool deref, std::int64_t* offset) {
  constexpr std::uint8_t kBreg6 = 0x76, kDeref = 0x06;
  if (expression.take<std::uint8_t>() != kBreg6) return false;
  *offset = expression.signed_leb();
  if (deref && expression.take<std::uint8_t>() != kDeref) return false;
  return expression.good && expression.next == expression.end;
}

// One row of the table that the instructions describe, with only the columns that lead to the caller.
struct UnwindRow {
  Cfa cfa = Cfa::none;
  Bp bp = Bp::kept;
  bool ends = false; // the return address is undefined, or not in its usual place
  std::int64_t cfa_offset = 0;
  std::int64_t bp_offset = 0;
};

class Machine {
 public:
  // Runs until the row that is valid for `wanted`.
  Machine(const Common& common, std::uint64_t start, std::uint64_t wanted)
      : common_(common), location_(start), wanted_(wanted) {}

  bool run(TableBytes code) {
    while (code.more() && location_ <= wanted_)
      if (!step(code)) return false;
    return code.good;
  }
  void initial_done() { initial_ = row_; }
  const UnwindRow& row() const { return row_; }

 private:
  bool step(TableBytes& code) {
    const auto op = code.take<std::uint8_t>();
    const std::uint64_t low = op & 63;
    switch (op >> 6) {
      case 1:
        return advance(low);
      case 2:
        return saved(low, static_cast<std::int64_t>(code.unsigned_leb()) * common_.data_unit);
      case 3:
        return restore(low);
      default:
        return extended(op, code);
    }
  }

  bool extended(std::uint8_t op, TableBytes& code) {
    std::uint64_t reg;
    switch (op) {
      case 0x00:
        return true; // nop
      case 0x02:
        return advance(code.take<std::uint8_t>()); // advance_loc1
      case 0x03:
        return advance(code.take<std::uint16_t>()); // advance_loc2
      case 0x04:
        return advance(code.take<std::uint32_t>()); // advance_loc4
      case 0x05:
        reg = code.unsigned_leb(); // offset_extended
        return saved(reg, static_cast<std::int64_t>(code.unsigned_leb()) * common_.data_unit);
      case 0x06:
        return restore(code.unsigned_leb()); // restore_extended
      case 0x07:
        return forget(code.unsigned_leb()); // undefined
      case 0x08:
        return same(code.unsigned_leb()); // same_value
      case 0x09:
        reg = code.unsigned_leb();
        code.unsigned_leb();
        return lose(reg); // register
      case 0x0A:
        return push(); // remember_state
      case 0x0B:
        return pop(); // restore_state
      case 0x0C:
        reg = code.unsigned_leb(); // def_cfa
        return cfa_is(reg, static_cast<std::int64_t>(code.unsigned_leb()));
      case 0x0D:
        return cfa_is(code.unsigned_leb(), row_.cfa_offset); // def_cfa_register
      case 0x0E:
        row_.cfa_offset = static_cast<std::int64_t>(code.unsigned_leb()); // def_cfa_offset
        return true;
      case 0x0F:
        return cfa_is(code.part(code.unsigned_leb())); // def_cfa_expression
      case 0x10:
        reg = code.unsigned_leb(); // expression
        return saved(reg, code.part(code.unsigned_leb()));
      case 0x11:
        reg = code.unsigned_leb(); // offset_extended_sf
        return saved(reg, code.signed_leb() * common_.data_unit);
      case 0x12:
        reg = code.unsigned_leb(); // def_cfa_sf
        return cfa_is(reg, code.signed_leb() * common_.data_unit);
      case 0x13:
        row_.cfa_offset = code.signed_leb() * common_.data_unit; // def_cfa_offset_sf
        return true;
      case 0x14:
        reg = code.unsigned_leb();
        code.unsigned_leb();
        return lose(reg); // val_offset
      case 0x15:
        reg = code.unsigned_leb();
        code.signed_leb();
        return lose(reg); // val_offset_sf
      case 0x16:
        reg = code.unsigned_leb(); // val_expression
        code.skip(code.unsigned_leb());
        return lose(reg);
      case 0x2E:
        code.unsigned_leb();
        return true; // GNU_args_size
      default:
        return false;
    }
  }

  bool advance(std::uint64_t units) {
    location_ += units * common_.code_unit;
    return true;
  }
  bool cfa_is(std::uint64_t reg, std::int64_t offset) {
    row_.cfa = reg == kRsp ? Cfa::sp : reg == kRbp ? Cfa::bp : Cfa::none;
    row_.cfa_offset = offset;
    return true;
  }
  bool cfa_is(TableBytes expression) {
    row_.cfa = is_bp_plus(expression, true, &row_.cfa_offset) ? Cfa::at_bp : Cfa::none;
    return true;
  }
  bool saved(std::uint64_t reg, std::int64_t offset) {
    if (reg == kReturnAddress) row_.ends = offset != -8;
    if (reg == kRbp) row_.bp = Bp::at_cfa, row_.bp_offset = offset;
    return true;
  }
  bool saved(std::uint64_t reg, TableBytes expression) {
    if (reg == kReturnAddress) row_.ends = true;
    if (reg == kRbp) row_.bp = is_bp_plus(expression, false, &row_.bp_offset) ? Bp::at_bp : Bp::lost;
    return true;
  }
  bool restore(std::uint64_t reg) {
    if (reg == kReturnAddress) row_.ends = initial_.ends;
    if (reg == kRbp) row_.bp = initial_.bp, row_.bp_offset = initial_.bp_offset;
    return true;
  }
  bool same(std::uint64_t reg) {
    if (reg == kReturnAddress) row_.ends = true;
    if (reg == kRbp) row_.bp = Bp::kept;
    return true;
  }
  // The outermost frames also leave rbp undefined. Their caller is not needed.
  bool forget(std::uint64_t reg) { return lose(reg); }
  bool lose(std::uint64_t reg) {
    if (reg == kReturnAddress) row_.ends = true;
    if (reg == kRbp) row_.bp = Bp::lost;
    return true;
  }
  bool push() {
    if (depth_ == sizeof remembered_ / sizeof *remembered_) return false;
    remembered_[depth_++] = row_;
    return true;
  }
  bool pop() {
    if (depth_ == 0) return false;
    row_ = remembered_[--depth_];
    return true;
  }

  const Common& common_;
  std::uint64_t location_;
  std::uint64_t wanted_;
  UnwindRow row_{};
  UnwindRow initial_{};
  UnwindRow remembered_[8]{};
  unsigned depth_ = 0;
};

// Returns the FDE of the last function that begins before or at `wanted`, from the header's sorted table. Null:
// there is none, or the table does not have the layout that linkers write.
const std::uint8_t* find_fde(const std::uint8_t* header, std::uint64_t wanted) {
  struct SearchEntry {
    std::int32_t function; // both relative to the header
    std::int32_t fde;
  };
  if (header == nullptr || header[0] != 1 || (header[1] & 0x0F) != 0x0B || header[2] != 0x03 ||
      header[3] != 0x3B)
    return nullptr;
  std::uint32_t count;
  std::memcpy(&count, header + 8, sizeof count);
  const auto entry = [&](std::uint32_t i) {
    SearchEntry value;
    std::memcpy(&value, header + 12 + i * sizeof value, sizeof value);
    return value;
  };
  const auto offset = static_cast<std::int64_t>(wanted - reinterpret_cast<std::uint64_t>(header));
  std::uint32_t low = 0;
  for (std::uint32_t high = count; low < high;) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (entry(middle).function <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low == 0 ? nullptr : header + entry(low - 1).fde;
}

FrameRule rule_from(const std::uint8_t* header, std::uint64_t wanted) {
  const FrameRule none{};
  const std::uint8_t* const at = find_fde(header, wanted);
  if (at == nullptr) return none;
  TableBytes fde = record_at(at);
  const std::uint8_t* const id_field = fde.next;
  const auto back = fde.take<std::uint32_t>();
  Common common;
  if (!fde.good || back == 0 || !read_common(id_field - back, &common)) return none;
  const std::uint64_t start = fde.pointer(common.pointers);
  const std::uint64_t bytes = fde.pointer(common.pointers, true);
  if (!fde.good || wanted - start >= bytes) return none;
  if (common.augmented) fde.skip(fde.unsigned_leb());
  if (common.signal) return {Cfa::signal, Bp::lost, 0, 0};
  Machine machine(common, start, wanted);
  if (!machine.run(common.instructions)) return none;
  machine.initial_done();
  if (!machine.run({fde.next, fde.end, true})) return none;
  const UnwindRow& row = machine.row();
  const auto too_far = [](std::int64_t offset) { return offset != static_cast<std::int32_t>(offset); };
  if (row.ends || row.cfa == Cfa::none || too_far(row.cfa_offset) || too_far(row.bp_offset)) return none;
  return {row.cfa, row.bp, static_cast<std::int32_t>(row.cfa_offset),
          row.bp == Bp::at_cfa || row.bp == Bp::at_bp ? static_cast<std::int32_t>(row.bp_offset) : 0};
}

} // namespace

bool find_frame_rule(std::uint64_t address, FrameRule* out) {
  dl_find_object object{};
  if (!find_object(address - 1, &object)) return false;
  // Look up the call, not the instruction after it: a function may end with a call that never returns.
  *out = rule_from(static_cast<const std::uint8_t*>(object.dlfo_eh_frame), address - 1);
  return true;
}

} // namespace memtrace::record
