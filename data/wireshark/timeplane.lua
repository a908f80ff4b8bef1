-- Wireshark dissector of timeplane's frames: datagrams of agents (UDP port 51208), signals
-- (EtherTypes 0x88B5 and 0x8808), and data frames of live agents (EtherType 0x88B6). The layouts are
-- those of crates/protocol/src/wire, and the fields have the names of the Rust types.
--
-- To install it, copy it to the folder "Personal Lua Plugins" of Help > About Wireshark > Folders, or
-- run `tshark -X lua_script:timeplane.lua`.
-- Filters: timeplane.kind == 2, timeplane.grant.destination == 3, timeplane.signal.class == 1234,
-- timeplane.data.stream == 7, ...

local PORT = 51208
local ETHER_TYPE_SIGNAL, ETHER_TYPE_DATA, ETHER_TYPE_MAC_CONTROL = 0x88b5, 0x88b6, 0x8808
local OPCODE_PAUSE, OPCODE_PFC, OPCODE_EXTENDED_PFC = 0x0001, 0x0101, 0x010b
local MAC_CONTROL_OF_WIRESHARK = DissectorTable.get("ethertype"):get_dissector(ETHER_TYPE_MAC_CONTROL)
local IP_OF_WIRESHARK = Dissector.get("ip")

local timeplane = Proto("timeplane", "timeplane")

local KINDS = {
    [1] = "Report", [2] = "Grants", [3] = "Rates", [4] = "Schedule", [5] = "Heartbeat", [6] = "Class names", [7] = "Leads", [8] = "Part",
    [9] = "Gathered", [10] = "Link report", [11] = "Steer", [12] = "Flyways",
}
local REPORT, GRANTS, RATES, SCHEDULE, HEARTBEAT, CLASS_NAMES, LEADS, PART, GATHERED, LINK_REPORT, STEER, FLYWAYS =
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
-- The meaning of a header's number.
local NUMBERS = {
    [1] = "sequence", [2] = "round", [3] = "round", [4] = "period", [5] = "period", [6] = "round", [7] = "round", [8] = "round",
    [9] = "sequence", [10] = "sequence", [11] = "sequence", [12] = "round",
}
local TRIGGERS = { [0] = "at a time", [1] = "by a signal", [2] = "never", [3] = "at a time of 8 bytes" }
local MEDIA = { [0] = "fabric", [1] = "path", [2] = "link" }
local DATA_KINDS = { [1] = "Stream", [2] = "Repair", [3] = "Packet", [4] = "Hop" }

-- Fields by name, without "timeplane.".
local fields, list = {}, {}
local function field(name, make, title, ...)
    fields[name] = make("timeplane." .. name, title, ...)
    list[#list + 1] = fields[name]
end
local u8, u16, u32, u64, i64, i32 =
    ProtoField.uint8, ProtoField.uint16, ProtoField.uint32, ProtoField.uint64, ProtoField.int64, ProtoField.int32
local DEC, HEX = base.DEC, base.HEX

-- The header of datagrams.
field("version", u8, "Version", DEC)
field("kind", u8, "Kind", DEC, KINDS, 0x0f)
field("flags", u8, "Flags", HEX, nil, 0xf0)
field("last", ProtoField.bool, "Last part", 16, nil, 0x8000)
field("part", u16, "Part", DEC, nil, 0x7fff)
field("epoch", u32, "Epoch", DEC)
field("number", u64, "Number", DEC)
field("time", i64, "Time (ps)", DEC)
-- Reports.
field("report.heard", u8, "Newest round heard of, 1 to 255 over and over", DEC)
field("report.room", u64, "Room of the receive buffer (B)", DEC)
field("report.obeys", u32, "Epoch of the controller that is obeyed", DEC)
field("entry.destination", u32, "Destination", DEC, nil, 0x7fffffff)
field("entry.bytes", u64, "Bytes that wait", DEC)
field("entry.arrived", u64, "Bytes that have ever arrived", DEC)
field("burst.destination", u32, "Destination", DEC)
field("burst.class", u8, "Class", DEC)
field("burst.packets", u32, "Packets", DEC)
field("burst.bytes", u64, "Bytes", DEC)
field("burst.arrived", i64, "Arrived at (ps)", DEC)
field("part.destination", u32, "Destination", DEC)
field("part.coflow", u32, "Coflow", DEC)
field("part.bytes", u64, "Bytes", DEC)
-- Grants, also those for the hosts of a relay.
field("report_at", i64, "Report at (ps)", DEC)
field("grant.host", u32, "Host", DEC)
field("grant.destination", u32, "Destination", DEC, nil, 0x3fffffff)
field("grant.medium", u32, "Medium", DEC, MEDIA, 0xc0000000)
field("grant.class", u8, "Class", DEC)
field("grant.flags", u8, "Flags", HEX)
field("grant.start_kind", u8, "Begins", DEC, TRIGGERS, 0x03)
field("grant.end_kind", u8, "Ends", DEC, TRIGGERS, 0x0c)
field("grant.path", u16, "Path", HEX)
field("grant.start", i64, "Begin (ps)", DEC)
field("grant.start_signal", u64, "Begins by signal", DEC)
field("grant.end", i64, "End (ps)", DEC)
field("grant.end_signal", u32, "Ends by signal", DEC)
field("grant.lease", i64, "Lease (ps)", DEC)
field("grant.rate", u64, "Rate (bit/s)", DEC)
field("grant.bytes", u64, "At most (B)", DEC)
field("grant.packets", u32, "At most (packets)", DEC)
field("grant.link", u32, "Link", DEC)
-- Rates.
field("lease", i64, "Lease (ps)", DEC)
field("rate.destination", u32, "Destination", DEC)
field("rate.class", u8, "Class", DEC)
field("rate.rate", u64, "Rate (bit/s)", DEC)
-- REACToR's schedule.
field("schedule.length", i64, "Length of the period (ps)", DEC)
field("schedule.dark", i64, "Dark time (ps)", DEC)
field("schedule.eps_rate", u64, "Rate towards the packet network (bit/s)", DEC)
field("schedule.others", u64, "Rate of destinations that are not named (bit/s)", DEC)
field("schedule.eps_class", u16, "Class of the packet network", DEC)
field("schedule.eps_class_rate", u64, "Its rate (bit/s)", DEC)
field("schedule.configurations", u16, "Configurations", DEC)
field("configuration.destination", u32, "Destination", DEC, nil, 0x3fffffff)
field("configuration.via", u32, "Via", DEC, { [0] = "idle", [1] = "rack-local", [2] = "circuit" }, 0xc0000000)
field("configuration.stands", ProtoField.bool, "Stands already", 16, nil, 0x8000)
field("configuration.class", u16, "Class", DEC, nil, 0x07ff)
field("configuration.duration", u64, "Duration (ps)", DEC)
field("configuration.rate", u64, "Rate (bit/s)", DEC)
field("share.destination", u32, "Destination", DEC)
field("share.class", u16, "Class", DEC)
field("share.rate", u64, "Rate (bit/s)", DEC)
-- Class names.
field("name.class", u16, "Class", DEC)
field("name.destination", u32, "Destination", DEC)
-- Reports that a relay has gathered.
field("gathered.host", u32, "Host", DEC, nil, 0x3fffffff)
field("gathered.has_room", ProtoField.bool, "Has room", 32, nil, 0x80000000)
field("gathered.has_obeys", ProtoField.bool, "Names a controller", 32, nil, 0x40000000)
field("gathered.epoch", u32, "Epoch", DEC)
field("gathered.sequence", u64, "Sequence", DEC)
field("gathered.taken_at", i64, "Taken at (ps)", DEC)
field("gathered.entries", u32, "Destinations", DEC)
-- A proxy's messages.
field("link.link", u32, "Link", DEC)
field("link.rate", u64, "Rate (bit/s)", DEC)
field("link.mcs", u8, "MCS", DEC)
field("link.transmit_beam", u16, "Transmit beam", DEC)
field("link.receive_beam", u16, "Receive beam", DEC)
field("link.level", i32, "Level (0.01 dBm)", DEC)
field("link.queue_bytes", u64, "Bytes that wait", DEC)
field("link.queue_packets", u32, "Packets that wait", DEC)
field("link.drops", u64, "Packets dropped", DEC)
field("steer.flow", u32, "Flow", DEC)
field("steer.window", u64, "Window (B)", DEC)
field("steer.rate", u64, "Rate (bit/s)", DEC)
-- Flyways.
field("flyway.peer", u32, "Peer", DEC, nil, 0x7fffffff)
field("flyway.channel", u32, "Channel", DEC)
field("flyway.rate", u64, "Rate (bit/s)", DEC)
field("flyway.up", i64, "Up from (ps)", DEC)
field("flyway_share.destination", u32, "Destination", DEC)
field("flyway_share.start", u32, "Start", DEC)
field("flyway_share.end", u32, "End", DEC)
field("flyway_share.channel", u32, "Channel", DEC)
field("flyway_share.ppm", u32, "Millionths", DEC)
-- Signals.
field("signal.opcode", u16, "Opcode", HEX)
field("signal.version", u8, "Version", DEC)
field("signal.others_count", ProtoField.bool, "Says something of other classes", 8, nil, 0x80)
field("signal.holds", ProtoField.bool, "Has a hold", 8, nil, 0x40)
field("signal.classes", u8, "Classes", DEC, nil, 0x07)
field("signal.others", u16, "Others pause for (quanta)", DEC)
field("signal.epoch", u32, "Epoch", DEC)
field("signal.number", u64, "Number", DEC)
field("signal.class", u16, "Class", DEC)
field("signal.time", u16, "Pauses for (quanta)", DEC)
field("signal.hold", i64, "Hold (ps)", DEC)
field("signal.hold_ns", u64, "Hold (ns)", DEC)
field("signal.tag", ProtoField.bytes, "Tag")
-- Data frames.
field("data.version", u8, "Version", DEC)
field("data.kind", u8, "Kind", DEC, DATA_KINDS)
field("data.class", u16, "Class", DEC, { [0xffff] = "no gate" })
field("data.payload", u16, "Bytes of the payload", DEC)
field("data.host", u32, "Host", DEC)
field("data.epoch", u32, "Epoch", DEC)
field("data.stream", u32, "Stream", DEC)
field("data.port", u16, "Port", DEC)
field("data.sealed", u8, "Sealed", DEC)
field("data.offset", u64, "Offset", DEC)
field("data.length", u64, "Length of the stream", DEC)
field("data.tag", ProtoField.bytes, "Tag")
field("hop.from", u16, "From the rack", DEC)
field("hop.to", u16, "To the rack", DEC)
field("hop.next", u16, "Rack at the other end", DEC)
field("hop.progress", u16, "Progress", DEC)
field("hop.flow", u32, "Flow", DEC)
field("hop.offset", u64, "Offset", DEC)
field("hop.hops", u16, "Hops", DEC)
field("repair.contiguous", u64, "Everything below has come", DEC)
field("repair.gap_begin", u64, "Gap from", DEC)
field("repair.gap_end", u64, "Gap to", DEC)
timeplane.fields = list

local truncated = ProtoExpert.new("timeplane.truncated", "Truncated", expert.group.MALFORMED, expert.severity.ERROR)
local reserved = ProtoExpert.new("timeplane.unknown", "Unknown", expert.group.PROTOCOL, expert.severity.WARN)
timeplane.experts = { truncated, reserved }

-- A reader: an offset, and the number of remaining bytes.
local Reader = {}
Reader.__index = Reader
function Reader.new(buffer, at)
    return setmetatable({ buffer = buffer, at = at or 0 }, Reader)
end
function Reader:left()
    return self.buffer:len() - self.at
end
-- Returns the next bytes without advancing. Too few bytes raise Wireshark's own error.
function Reader:peek(length)
    return self.buffer(self.at, length)
end
function Reader:skip(length)
    self.at = self.at + length
end
-- Adds a field of the next bytes, and advances.
function Reader:add(tree, name, length)
    local range = self:peek(length)
    local item = tree:add(fields[name], range)
    self.at = self.at + length
    return range, item
end
-- The same, without advancing.
function Reader:note(tree, name, length)
    return tree:add(fields[name], self:peek(length))
end

local function truncation(tree, r)
    tree:add_proto_expert_info(truncated, "an item that ends after the frame: " .. r:left() .. " bytes are left")
    r:skip(r:left())
end

-- The items of a message, each in a tree of its own.
local function item(tree, r, length, title)
    return tree:add(timeplane, r:peek(math.min(length, r:left())), title)
end

local function entry(tree, r)
    local arrived = r:peek(4):bitfield(0, 1) == 1
    local length = arrived and 20 or 12
    if r:left() < length then return truncation(tree, r) end
    local t = item(tree, r, length, "To host " .. r:peek(4):bitfield(1, 31))
    r:add(t, "entry.destination", 4)
    t:append_text(": " .. tostring(r:peek(8):uint64()) .. " B")
    r:add(t, "entry.bytes", 8)
    if arrived then r:add(t, "entry.arrived", 8) end
end

local function burst(tree, r)
    if r:left() < 24 then return truncation(tree, r) end
    local t = item(tree, r, 24, "Burst to host " .. r:peek(4):uint())
    r:add(t, "burst.destination", 4)
    r:add(t, "burst.class", 1)
    r:add(t, "burst.packets", 4)
    r:add(t, "burst.bytes", 7)
    r:add(t, "burst.arrived", 8)
end

local function part_of_coflow(tree, r)
    if r:left() < 16 then return truncation(tree, r) end
    local t = item(tree, r, 16, "Coflow to host " .. r:peek(4):uint())
    r:add(t, "part.destination", 4)
    r:add(t, "part.coflow", 4)
    r:add(t, "part.bytes", 8)
end

-- A grant. Its times count from the start of the round, as in the encoder.
local function grant(tree, r, effective, of_host)
    local before = of_host and 4 or 0
    if r:left() < before + 24 then return truncation(tree, r) end
    local flags = r.buffer(r.at + before + 5, 1):uint()
    local medium = r.buffer(r.at + before, 4):bitfield(0, 2)
    local has = function(bit_) return math.floor(flags / bit_) % 2 == 1 end
    local start_kind, end_kind = flags % 4, math.floor(flags / 4) % 4
    local length = before + 24 + (has(0x10) and 8 or 0) + (has(0x20) and 8 or 0) + (has(0x40) and 4 or 0) + (medium == 2 and 4 or 0)
        + (end_kind == 3 and 8 or 0) + (has(0x80) and 8 or 0)
    if r:left() < length then return truncation(tree, r) end
    local t = item(tree, r, length, "Grant")
    if of_host then
        t:append_text(" for host " .. r:peek(4):uint())
        r:add(t, "grant.host", 4)
    end
    t:append_text(" to host " .. r:peek(4):bitfield(2, 30))
    r:note(t, "grant.destination", 4)
    r:add(t, "grant.medium", 4)
    r:add(t, "grant.class", 1)
    local f = r:note(t, "grant.flags", 1)
    r:note(f, "grant.start_kind", 1)
    r:add(f, "grant.end_kind", 1)
    r:add(t, "grant.path", 2)
    -- The start, and the reference of the end.
    local range, from = r:peek(8), effective
    if start_kind == 0 then
        from = effective + range:int64()
        t:add(fields["grant.start"], range, from)
        t:append_text(" at " .. tostring(from) .. " ps")
    elseif start_kind == 1 then
        t:add(fields["grant.start_signal"], range)
    end
    r:skip(8)
    local ends, lease = r:peek(4), r.buffer(r.at + 4, 4)
    r:skip(8)
    local rest = {
        { has(0x10), "grant.rate", 8 }, { has(0x20), "grant.bytes", 8 }, { has(0x40), "grant.packets", 4 }, { medium == 2, "grant.link", 4 },
    }
    for _, one in ipairs(rest) do
        if one[1] then r:add(t, one[2], one[3]) end
    end
    if end_kind == 0 then
        from = from + Int64.new(ends:uint())
        t:add(fields["grant.end"], ends, from)
    elseif end_kind == 1 then
        t:add(fields["grant.end_signal"], ends)
    elseif end_kind == 3 then
        from = r:peek(8):int64()
        r:add(t, "grant.end", 8)
    end
    if has(0x80) then
        r:add(t, "grant.lease", 8)
    else
        t:add(fields["grant.lease"], lease, from + Int64.new(lease:uint()))
    end
end

local function rate(tree, r)
    if r:left() < 12 then return truncation(tree, r) end
    local t = item(tree, r, 12, "Rate to host " .. r:peek(4):uint())
    r:add(t, "rate.destination", 4)
    r:add(t, "rate.class", 1)
    r:add(t, "rate.rate", 7)
end

local function configuration(tree, r)
    if r:left() < 18 then return truncation(tree, r) end
    local t = item(tree, r, 18, "Configuration")
    r:note(t, "configuration.destination", 4)
    r:add(t, "configuration.via", 4)
    r:note(t, "configuration.stands", 2)
    r:add(t, "configuration.class", 2)
    r:add(t, "configuration.duration", 6)
    r:add(t, "configuration.rate", 6)
end

local function share(tree, r)
    if r:left() < 12 then return truncation(tree, r) end
    local t = item(tree, r, 12, "Share of the packet network to host " .. r:peek(4):uint())
    r:add(t, "share.destination", 4)
    r:add(t, "share.class", 2)
    r:add(t, "share.rate", 6)
end

local function class_name(tree, r)
    if r:left() < 8 then return truncation(tree, r) end
    local t = item(tree, r, 8, "Class " .. r:peek(2):uint())
    r:add(t, "name.class", 2)
    r:skip(2)
    t:append_text(": host " .. r:peek(4):uint())
    r:add(t, "name.destination", 4)
end

local function flyway(tree, r)
    if r:peek(4):bitfield(0, 1) == 1 then
        if r:left() < 23 then return truncation(tree, r) end
        local t = item(tree, r, 23, "Flyway with rack " .. r:peek(4):bitfield(1, 31))
        r:add(t, "flyway.peer", 4)
        r:add(t, "flyway.channel", 4)
        r:add(t, "flyway.rate", 7)
        r:add(t, "flyway.up", 8)
        return
    end
    if r:left() < 20 then return truncation(tree, r) end
    local t = item(tree, r, 20, "Share to rack " .. r:peek(4):uint())
    for _, name in ipairs({ "destination", "start", "end", "channel", "ppm" }) do
        r:add(t, "flyway_share." .. name, 4)
    end
end

-- The head of a gathered report: the number of destinations that follow.
local function gathered(tree, r)
    local room, obeys = r:peek(4):bitfield(0, 1) == 1, r:peek(4):bitfield(1, 1) == 1
    local length = 28 + (room and 8 or 0) + (obeys and 4 or 0)
    if r:left() < length then
        truncation(tree, r)
        return 0
    end
    local t = item(tree, r, length, "Report of host " .. r:peek(4):bitfield(2, 30))
    r:note(t, "gathered.host", 4)
    r:note(t, "gathered.has_room", 4)
    r:add(t, "gathered.has_obeys", 4)
    r:add(t, "gathered.epoch", 4)
    r:add(t, "report.heard", 1)
    r:add(t, "gathered.sequence", 7)
    r:add(t, "gathered.taken_at", 8)
    local entries = r:add(t, "gathered.entries", 4):uint()
    if room then r:add(t, "report.room", 8) end
    if obeys then r:add(t, "report.obeys", 4) end
    return entries
end

-- Messages in several datagrams. An item is never split, but its kind can depend on the part before.
-- This table has how many items of the last kind were still to come after each part, by conversation,
-- message and part. It is filled when frames are first seen.
local open_after = {}
function timeplane.init()
    open_after = {}
end

local function body(kind, flags, part, effective, key, r, tree)
    local first, pending = part == 0, nil
    if not first then pending = open_after[key .. ":" .. (part - 1)] end
    if kind == REPORT then
        if first and flags % 2 == 1 then r:add(tree, "report.room", 8) end
        if first and math.floor(flags / 4) % 2 == 1 then r:add(tree, "report.obeys", 4) end
        local one = math.floor(flags / 2) % 2 == 1 and burst or flags >= 8 and part_of_coflow or entry
        while r:left() >= 4 do one(tree, r) end
    elseif kind == GRANTS or kind == PART then
        if first then r:add(tree, "report_at", 8) end
        while r:left() >= 4 do grant(tree, r, effective, kind == PART) end
    elseif kind == RATES then
        if first then r:add(tree, "lease", 8) end
        while r:left() >= 4 do rate(tree, r) end
    elseif kind == FLYWAYS then
        if first then r:add(tree, "lease", 8) end
        while r:left() >= 4 do flyway(tree, r) end
    elseif kind == CLASS_NAMES then
        while r:left() >= 4 do class_name(tree, r) end
    elseif kind == SCHEDULE then
        if first then
            r:add(tree, "schedule.length", 8)
            r:add(tree, "schedule.dark", 8)
            r:add(tree, "schedule.eps_rate", 6)
            r:add(tree, "schedule.others", 6)
            r:add(tree, "schedule.eps_class", 2)
            r:add(tree, "schedule.eps_class_rate", 6)
            pending = r:add(tree, "schedule.configurations", 2):uint()
        end
        if pending == nil then
            tree:add_proto_expert_info(reserved, "the part before is not in this capture")
            return r:skip(r:left())
        end
        while r:left() >= 4 do
            if pending > 0 then
                pending = pending - 1
                configuration(tree, r)
            else
                share(tree, r)
            end
        end
        open_after[key .. ":" .. part] = pending
    elseif kind == GATHERED then
        if first then pending = 0 end
        if pending == nil then
            tree:add_proto_expert_info(reserved, "the part before is not in this capture")
            return r:skip(r:left())
        end
        while r:left() >= 4 do
            if pending > 0 then
                pending = pending - 1
                entry(tree, r)
            else
                pending = gathered(tree, r)
            end
        end
        open_after[key .. ":" .. part] = pending
    elseif kind == LINK_REPORT then
        r:add(tree, "link.link", 4)
        r:add(tree, "link.rate", 7)
        r:add(tree, "link.mcs", 1)
        r:add(tree, "link.transmit_beam", 2)
        r:add(tree, "link.receive_beam", 2)
        r:add(tree, "link.level", 4)
        r:add(tree, "link.queue_bytes", 8)
        r:add(tree, "link.queue_packets", 4)
        r:add(tree, "link.drops", 8)
    elseif kind == STEER then
        r:add(tree, "steer.flow", 4)
        r:add(tree, "steer.window", 8)
        if flags % 2 == 1 then r:add(tree, "steer.rate", 7) end
    end
    if r:left() > 0 then truncation(tree, r) end
end

-- A signal, after its EtherType or as a datagram: 46 bytes, and optionally a tag of eight.
local function signal(buffer, pinfo, tree)
    if buffer:len() < 46 then return 0 end
    pinfo.cols.protocol = "timeplane"
    local t = tree:add(timeplane, buffer(0, math.min(buffer:len(), 54)), "timeplane, Signal")
    local r = Reader.new(buffer)
    r:add(t, "signal.opcode", 2)
    r:add(t, "signal.version", 1)
    local flags = r:peek(1):uint()
    r:note(t, "signal.others_count", 1)
    r:note(t, "signal.holds", 1)
    r:add(t, "signal.classes", 1)
    if flags >= 0x80 then r:note(t, "signal.others", 2) end
    r:skip(2)
    r:add(t, "signal.epoch", 4)
    -- The lower half of the number; the upper half follows the classes.
    local number = UInt64.new(buffer(10, 4):uint(), buffer(30, 4):uint())
    t:add(fields["signal.number"], buffer(10, 4), number)
    r:skip(4)
    local told = {}
    for _ = 1, math.min(flags % 8, 4) do
        local class, time = r:peek(2):uint(), buffer(r.at + 2, 2):uint()
        told[#told + 1] = (time == 0 and "opens " or "pauses ") .. class
        local one = t:add(timeplane, r:peek(4), "Class " .. class)
        r:add(one, "signal.class", 2)
        r:add(one, "signal.time", 2)
    end
    if math.floor(flags / 0x40) % 2 == 1 then t:add(fields["signal.hold"], buffer(34, 8)) end
    -- A minimal frame is padded with zeros; a tag is not zero.
    if buffer:len() >= 54 and buffer(46, 8):uint64() ~= UInt64.new(0, 0) then t:add(fields["signal.tag"], buffer(46, 8)) end
    if flags >= 0x80 and #told == 0 then told[1] = "pauses all" end
    pinfo.cols.info = "Signal " .. tostring(number) .. ": " .. table.concat(told, ", ")
    t:append_text(" " .. tostring(number) .. ": " .. table.concat(told, ", "))
    return buffer:len()
end

function timeplane.dissector(buffer, pinfo, tree)
    -- A signal's opcode can look like the header of a window, except for the part, which windows have.
    if buffer:len() >= 46 and buffer(0, 2):uint() == OPCODE_EXTENDED_PFC and buffer(2, 1):uint() == 1 then
        return signal(buffer, pinfo, tree)
    end
    if buffer:len() < 24 or buffer(0, 1):uint() ~= 1 then return 0 end
    pinfo.cols.protocol = "timeplane"
    local kind, flags = buffer(1, 1):uint() % 16, math.floor(buffer(1, 1):uint() / 16)
    local part, last = buffer(2, 2):uint() % 0x8000, buffer(2, 2):uint() >= 0x8000
    local name = KINDS[kind] or ("unknown kind " .. kind)
    local number = tostring(buffer(8, 8):uint64())
    local shown = kind == REPORT and tostring(buffer(9, 7):uint64()) or number
    local counted = ", " .. (NUMBERS[kind] or "number") .. " " .. shown
    local told = name .. counted .. ((part > 0 or not last) and (", part " .. part) or "")
    pinfo.cols.info = told
    local t = tree:add(timeplane, buffer(), "timeplane, " .. told)
    local r = Reader.new(buffer)
    r:add(t, "version", 1)
    r:note(t, "kind", 1)
    r:add(t, "flags", 1)
    r:note(t, "last", 2)
    r:add(t, "part", 2)
    r:add(t, "epoch", 4)
    if kind == REPORT then
        r:add(t, "report.heard", 1)
        r:add(t, "number", 7)
    else
        r:add(t, "number", 8)
    end
    local effective = r:peek(8):int64()
    r:add(t, "time", 8)
    if not KINDS[kind] then
        t:add_proto_expert_info(reserved, "kind " .. kind .. " is not known to this dissector")
        return buffer:len()
    end
    local key = table.concat({ tostring(pinfo.src), tostring(pinfo.dst), kind, buffer(4, 4):uint(), number }, ":")
    body(kind, flags, part, effective, key, r, t)
    return buffer:len()
end

-- Data frames of live agents.
local data = Proto("timeplane_data", "timeplane data")
-- A datagram from rack to rack over a rotor switch.
local function hop(buffer, pinfo, tree)
    pinfo.cols.protocol = "timeplane"
    local told = "Hop to rack " .. buffer(10, 2):uint() .. ": " .. buffer(4, 2):uint() .. " B of flow "
        .. buffer(14, 4):uint() .. " from rack " .. buffer(6, 2):uint() .. " to " .. buffer(8, 2):uint()
    pinfo.cols.info = told
    local t = tree:add(timeplane, buffer(0, 28), "timeplane, " .. told)
    local r = Reader.new(buffer)
    r:add(t, "data.version", 1)
    r:add(t, "data.kind", 1)
    r:add(t, "data.class", 2)
    r:add(t, "data.payload", 2)
    r:add(t, "hop.from", 2)
    r:add(t, "hop.to", 2)
    r:add(t, "hop.next", 2)
    r:add(t, "hop.progress", 2)
    r:add(t, "hop.flow", 4)
    r:add(t, "hop.offset", 8)
    r:add(t, "hop.hops", 2)
    return buffer:len()
end

function data.dissector(buffer, pinfo, tree)
    if buffer:len() >= 28 and buffer(1, 1):uint() == 4 then return hop(buffer, pinfo, tree) end
    if buffer:len() < 38 then return 0 end
    local kind, payload = buffer(1, 1):uint(), buffer(4, 2):uint()
    pinfo.cols.protocol = "timeplane"
    local name = DATA_KINDS[kind] or ("unknown kind " .. kind)
    local told = name .. " " .. buffer(14, 4):uint() .. " of host " .. buffer(6, 4):uint() .. ", " .. payload .. " B"
    if kind == 1 then told = told .. " at " .. tostring(buffer(22, 8):uint64()) end
    pinfo.cols.info = told
    local t = tree:add(timeplane, buffer(0, 38), "timeplane, " .. told)
    local r = Reader.new(buffer)
    r:add(t, "data.version", 1)
    r:add(t, "data.kind", 1)
    r:add(t, "data.class", 2)
    r:add(t, "data.payload", 2)
    r:add(t, "data.host", 4)
    r:add(t, "data.epoch", 4)
    r:add(t, "data.stream", 4)
    r:add(t, "data.port", 2)
    r:skip(1)
    r:add(t, "data.sealed", 1)
    r:add(t, "data.offset", 8)
    r:add(t, "data.length", 8)
    local there = math.min(payload, r:left())
    if kind == 2 and there >= 8 then
        local stop = r.at + there
        r:add(t, "repair.contiguous", 8)
        while stop - r.at >= 16 do
            local gap = t:add(timeplane, r:peek(16), "Gap")
            r:add(gap, "repair.gap_begin", 8)
            r:add(gap, "repair.gap_end", 8)
        end
    elseif kind == 3 and there > 0 then
        IP_OF_WIRESHARK:call(r:peek(there):tvb(), pinfo, tree)
    end
    if buffer(21, 1):uint() == 1 and buffer:len() >= 46 + payload then
        t:add(fields["data.tag"], buffer(38 + payload, 8))
    end
    return buffer:len()
end

-- EtherTypes: signals, and MAC control frames; Wireshark dissects those that are not ours.
local by_ether_type = Proto("timeplane_signal", "timeplane signal")
function by_ether_type.dissector(buffer, pinfo, tree)
    if buffer:len() < 2 then return 0 end
    local opcode = buffer(0, 2):uint()
    if opcode == OPCODE_EXTENDED_PFC then return signal(buffer, pinfo, tree) end
    if not MAC_CONTROL_OF_WIRESHARK then return 0 end
    local done = MAC_CONTROL_OF_WIRESHARK:call(buffer, pinfo, tree)
    -- A PFC frame that is a signal has epoch, number, hold and tag in the padding of the standard.
    if opcode == OPCODE_PFC and buffer:len() >= 46 and buffer(38, 8):uint64() ~= UInt64.new(0, 0) then
        local t = tree:add(timeplane, buffer(20, 26), "timeplane, Signal " .. tostring(buffer(24, 8):uint64()) .. " in a PFC frame")
        local r = Reader.new(buffer, 20)
        r:add(t, "signal.epoch", 4)
        r:add(t, "signal.number", 8)
        r:add(t, "signal.hold_ns", 6)
        r:add(t, "signal.tag", 8)
    end
    return done
end

DissectorTable.get("udp.port"):add(PORT, timeplane)
DissectorTable.get("ethertype"):add(ETHER_TYPE_SIGNAL, by_ether_type)
DissectorTable.get("ethertype"):add(ETHER_TYPE_MAC_CONTROL, by_ether_type)
DissectorTable.get("ethertype"):add(ETHER_TYPE_DATA, data)
