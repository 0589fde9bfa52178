Serow::Mold.run
