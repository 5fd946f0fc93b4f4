-- SPDX-License-Identifier: Apache-2.0
-- Wireshark reads LTP (RFC 5326) by itself. This adds what Heliograph's own header extension says: orange blocks
-- (docs/recovery.md), tag 0xC4 of the range for private use with the value "OR" and a number. Nothing else is dissected here.
--
--   wireshark -X lua_script:heliograph.lua CAPTURE        filters: heliograph.orange, heliograph.orange == 3
local TAG, LENGTH = 0xC4, 3
local kinds = {[1] = "the block asks for an answer", [2] = "the block was delivered", [3] = "the block was lost"}
local short = {[1] = "orange", [2] = "orange, delivered", [3] = "orange, lost"}

local helio = Proto("heliograph", "Heliograph's extension of LTP")
local orange = ProtoField.uint8("heliograph.orange", "Orange block", base.DEC, kinds)
helio.fields = {orange}

local tag_field, value_field = Field.new("ltp.hdr.extn.tag"), Field.new("ltp.hdr.extn.val")

-- The tag before a value: the one that begins nearest to it. An extension of length 0 has a tag and no value.
local function tag_of(value, tags)
    local found
    for _, tag in ipairs(tags) do
        if tag.offset < value.offset and (not found or tag.offset > found.offset) then
            found = tag
        end
    end
    return found and found.value
end

function helio.dissector(_, packet, tree)
    local tags = {tag_field()}
    for _, value in ipairs({value_field()}) do
        local range = value.range
        if value.len == LENGTH and tag_of(value, tags) == TAG and range(0, 2):string() == "OR" and kinds[range(2, 1):uint()] then
            local kind = range(2, 1):uint()
            tree:add(helio, range):add(orange, range(2, 1))
            packet.cols.info:append(" [" .. short[kind] .. "]")
        end
    end
end

register_postdissector(helio)
