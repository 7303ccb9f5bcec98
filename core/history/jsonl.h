// Histories as JSON Lines: a header, a row a line, an end line. Strict: a reader that guesses would judge
// guesses.
//
//   {"mqlab":"history","version":1,"scenario":"name = …","world":"sim","seed":7}
//   {"time":0,"kind":"start","phase":"ok","process":"api"}
//   {"time":1200,"kind":"publish","phase":"ok","process":"api","op":1,"message":1,"place":"requests/0","position":0}
//   {"end":2}
//
// A history from elsewhere names the parties instead of a scenario:
//
//   {"mqlab":"history","version":1,"topics":{"requests":2},"senders":{"api":"requests"},"readers":{"billing":"requests"}}
//
// Fields that have their default are left out; digest is a string of hexadecimal digits ("0x1f"), since many
// readers of JSON round 64-bit numbers; flags is a list of names. Without the end line the history is cut
// short.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/history/error.h"
#include "core/history/history.h"
#include "core/scenario/topology.h"

namespace mqlab {

/// A history as text; larger is refused unread: its rows would not fit beside it.
inline constexpr std::size_t history_bytes = std::size_t{512} << 20;

struct HistoryHeader {
  std::string scenario;  ///< complete, as TOML; empty where only the parties are named
  std::string world = "sim";
  std::uint64_t seed = 0;
  // Of a history from elsewhere, which has no scenario:
  std::vector<std::pair<std::string, std::uint32_t>> topics = {};  ///< name, partitions
  std::vector<std::pair<std::string, std::string>> senders = {};   ///< process, the topic it sends to
  std::vector<std::pair<std::string, std::string>> readers = {};   ///< process, the topic it reads
};

/// The names of processes and places, by number.
struct HistoryNames {
  std::vector<std::string> processes;
  std::vector<std::string> places;
};
HistoryNames history_names(const Topology& topology);

/// Each appends one line.
void write_header(std::string& out, const HistoryHeader& header);
void write_row(std::string& out, const Row& row, const HistoryNames& names);
void write_end(std::string& out, std::size_t rows);

/// Only the first line is looked at. Throws HistoryError.
HistoryHeader read_header(std::string_view text, const std::string& file);

struct HistoryFile {
  History rows;
  bool complete = false;  ///< the end line is there; without it nothing may be judged to hold
};
/// Reads what read_header() left: all lines but the first. Names are those of the header's scenario.
/// Throws HistoryError with the line: no JSON, an unknown key, name, kind or flag, a number out of range,
/// times that fall, another number of rows than the end line says, anything behind it.
HistoryFile read_rows(std::string_view text, const std::string& file, const HistoryNames& names);

}  // namespace mqlab
